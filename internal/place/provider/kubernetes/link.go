package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"

	"den/internal/base/fault"
	"den/internal/place/podhost"

	"github.com/hashicorp/yamux"
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
