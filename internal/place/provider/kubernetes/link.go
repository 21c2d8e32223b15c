package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/podhost"

	"github.com/hashicorp/yamux"
	corev1 "k8s.io/api/core/v1"
)

// link is the one stream into a pod, on which any number of connections run. It
// is opened when it is first needed, and again after it broke.
type link struct {
	client  *client
	pod     string
	command []string // what serves connections there; nil for that of an agent's pod

	dialing sync.Mutex // one opens it; the others wait and use it

	mu     sync.Mutex // guards the fields below
	mux    *yamux.Session
	cut    context.CancelFunc // ends the stream
	gone   chan struct{}      // closed when the stream has ended, and all who came by it
	serve  func(net.Conn)     // for whoever connects to a socket of the pod; or nil
	closed bool
}

// open opens a connection in the pod.
func (l *link) open(ctx context.Context, h podhost.Header) (net.Conn, error) {
	h.V = podhost.Version
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	// A stream that broke may not have been noticed yet: then it is opened
	// anew, once.
	for first := true; ; first = false {
		mux, err := l.connected(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := mux.OpenStream()
		if err == nil {
			if _, err = conn.Write(append(head, '\n')); err == nil {
				return conn, nil
			}
			conn.Close() // Best effort: it is broken.
		}
		l.drop(mux)
		if !first || ctx.Err() != nil {
			return nil, fault.Errorf(fault.Unreachable, "reach pod %s: %w", l.pod, err)
		}
	}
}

// connected returns the stream's connections, and opens it where there is none.
func (l *link) connected(ctx context.Context) (*yamux.Session, error) {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	l.mu.Lock()
	mux, closed := l.mux, l.closed
	l.mu.Unlock()
	if closed {
		return nil, fault.Errorf(fault.Unreachable, "reach pod %s: its link is closed", l.pod)
	}
	if mux != nil && !mux.IsClosed() {
		return mux, nil
	}
	l.drop(mux) // what is left of it
	return l.dial(ctx)
}

// dial runs den in the pod and speaks with it through its input and output.
func (l *link) dial(ctx context.Context) (*yamux.Session, error) {
	running, cut := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	gone, exited := make(chan struct{}), make(chan struct{})
	var said lastWords
	var failed error // read once exited is closed
	go func() {
		defer close(gone)
		code, err := l.client.exec(running, l.pod, l.argv(), streams{in: inR, out: outW, err: &said})
		if err == nil {
			err = fault.Errorf(fault.Unreachable, "den in pod %s ended with status %d: %s", l.pod, code, said.String())
		}
		failed = err
		close(exited)               // before its end can be seen in the stream
		outW.CloseWithError(io.EOF) // Best effort: nobody may read.
		inR.CloseWithError(io.ErrClosedPipe)
	}()
	mux, err := yamux.Client(muxStream{outR, inW}, podhost.MuxConfig())
	if err != nil {
		cut()
		<-gone
		return nil, err
	}
	answered := make(chan error, 1) // room for its only value
	go func() { _, err := mux.Ping(); answered <- err }()
	select {
	case err = <-answered:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		// If the command has ended by itself, that says why.
		ended := false
		select {
		case <-exited:
			ended = true
		default:
		}
		mux.Close() // Best effort: nothing was said.
		cut()
		<-gone
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ended:
			return nil, failed
		}
		return nil, fault.Errorf(fault.Unreachable, "reach pod %s: %w", l.pod, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		mux.Close() // Best effort, as above.
		cut()
		return nil, fault.Errorf(fault.Unreachable, "reach pod %s: its link is closed", l.pod)
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		l.accept(mux)
		<-gone
	}()
	l.mux, l.cut, l.gone = mux, cut, all
	return mux, nil
}

func (l *link) argv() []string {
	if l.command != nil {
		return l.command
	}
	return []string{podhost.Place{Dir: denDir}.Binary(), podhost.Verb, podhost.ModeConnect, denDir}
}

// drop ends a stream that is broken.
func (l *link) drop(mux *yamux.Session) {
	l.mu.Lock()
	cut, gone := l.cut, l.gone
	mine := l.mux == mux
	if mine {
		l.mux, l.cut, l.gone = nil, nil, nil
	}
	l.mu.Unlock()
	if mine && mux != nil {
		mux.Close() // Best effort: it is broken, or nobody needs it.
		cut()
		<-gone
	}
}

// close ends the stream with all that runs on it.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	mux := l.mux
	l.mu.Unlock()
	l.drop(mux)
}

// muxStream is the stream as its user has it.
type muxStream struct {
	*io.PipeReader
	in *io.PipeWriter
}

func (s muxStream) Write(p []byte) (int, error) { return s.in.Write(p) }

func (s muxStream) Close() error {
	s.PipeReader.Close() // Best effort: the other end sees it.
	return s.in.Close()
}

// lastWords keeps the beginning of what a command said on its standard error.
type lastWords struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

const maxWords = 4 << 10

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p[:min(len(p), maxWords-w.buf.Len())])
	return len(p), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(w.buf.String()); text != "" {
		return text
	}
	return "it said nothing"
}

// dialer opens connections to one target in the pod.
func (l *link) dialer(h podhost.Header) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return l.open(ctx, h) }
}

// copyDen takes den's binary from its input, unless it is there.
const copyDen = `set -e
d=` + denDir + `/bin
if [ -x $d/den ]; then exit 0; fi
mkdir -p $d
cat > $d/.den.$$
chmod 755 $d/.den.$$
mv $d/.den.$$ $d/den`

// install copies den into a pod whose image does not have it.
func (p *Provider) install(ctx context.Context, pod *corev1.Pod) error {
	binary, err := os.Open(p.Binary)
	if err != nil {
		return fault.Errorf(fault.Storage, "copy den into pod %s: %w", pod.Name, err)
	}
	defer binary.Close() // Best effort: it was only read.
	var said lastWords
	code, err := p.client.exec(ctx, pod.Name, []string{"/bin/sh", "-c", copyDen}, streams{in: binary, out: &said, err: &said})
	if err == nil && code != 0 {
		err = fault.Hintf(fault.Errorf(fault.Internal, "the shell ended with status %d: %s", code, said.String()), "an image without a shell needs den's own image: set 'den_image'")
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "copy den into pod %s: %w", pod.Name, err)
	}
	return nil
}

// HarnessSocket is where an agent in a pod finds its harness; see Relay.
var HarnessSocket = podhost.Place{Dir: denDir}.HarnessSocket()

// Relay has the session's pod listen at HarnessSocket, and serves here who connects
// there, until the context ends. When the stream breaks, or the session gets another
// pod, it begins anew. It tells why it does not work, once for each reason.
func (p *Provider) Relay(ctx context.Context, name string, serve func(net.Conn), trouble func(error)) {
	told := ""
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		begun := time.Now()
		err := p.relay(ctx, name, serve)
		if time.Since(begun) > lastRetry {
			pause, told = firstRetry, "" // it has worked meanwhile
		}
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != told {
			told = text
			trouble(fmt.Errorf("the agent does not reach its harness from its pod: %w", err))
		}
		if poll.Pause(ctx, pause) != nil {
			return
		}
	}
}

func (p *Provider) relay(ctx context.Context, name string, serve func(net.Conn)) error {
	pod, err := p.pod(ctx, name)
	if err != nil {
		return err
	}
	if pod == nil || stateOf(pod).stage != running {
		return fault.Errorf(fault.NotRunning, "session '%s' does not run", name)
	}
	return p.linkTo(pod).relay(ctx, HarnessSocket, serve)
}

// relay has the pod listen at a socket until the context ends, or the stream.
func (l *link) relay(ctx context.Context, path string, serve func(net.Conn)) error {
	l.mu.Lock()
	l.serve = serve
	l.mu.Unlock()
	conn, err := l.open(ctx, podhost.Header{To: podhost.ToSocket, Path: path})
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it ends the listening.
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	answers := json.NewDecoder(conn)
	for { // the first says that it listens; then nothing comes but the end
		var told podhost.Progress
		if err := answers.Decode(&told); err != nil {
			return fault.Errorf(fault.Unreachable, "the stream into pod %s broke: %w", l.pod, err)
		}
		if told.Error != nil {
			return told.Error.Err()
		}
	}
}

// accept serves who comes from the pod, until the stream ends. Nobody should come
// where nothing was asked for.
func (l *link) accept(mux *yamux.Session) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := mux.AcceptStream()
		if err != nil {
			return
		}
		l.mu.Lock()
		serve := l.serve
		l.mu.Unlock()
		open.Go(func() {
			defer conn.Close() // Best effort: all was said.
			if serve != nil {
				serve(conn)
			}
		})
	}
}

// KeeperContainer is the container of a keeper's pod in which den and dend are.
const KeeperContainer = "keeper"

// KeeperPod is a pod in which a keeper runs.
type KeeperPod struct{ link *link }

// OpenKeeperPod returns the pod of a name. It is not reached yet.
func OpenKeeperPod(c Cluster, pod string, getenv func(string) string) (*KeeperPod, error) {
	client, err := connect(c, "", getenv)
	if err != nil {
		return nil, err
	}
	client.container = KeeperContainer
	return &KeeperPod{&link{client: client, pod: pod, command: []string{imageDen, podhost.Verb, podhost.ModeVerbs}}}, nil
}

// Dial opens a connection for one verb; see podhost.RunVerb.
func (k *KeeperPod) Dial(ctx context.Context) (net.Conn, error) {
	return k.link.open(ctx, podhost.Header{To: podhost.ToVerb})
}

// Close ends the stream into the pod.
func (k *KeeperPod) Close() { k.link.close() }
