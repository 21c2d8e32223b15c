package podhost

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
	"den/internal/process/pty"
	"den/internal/process/tree"

	"github.com/hashicorp/yamux"
)

// stdio is the two ends of a stream.
type stdio struct {
	io.ReadCloser
	out io.WriteCloser
}

func (s stdio) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s stdio) Close() error { return errors.Join(s.ReadCloser.Close(), s.out.Close()) }

// Connect serves connections over one stream until that ends. Without a place it
// is where a keeper runs, and serves verbs.
func Connect(place Place, in io.ReadCloser, out io.WriteCloser) error {
	mux, err := yamux.Server(stdio{in, out}, MuxConfig())
	if err != nil {
		return err
	}
	var open sync.WaitGroup
	defer open.Wait()
	defer mux.Close() // Best effort: it ends what is open.
	for {
		conn, err := mux.AcceptStream()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			defer conn.Close() // Best effort: all was said.
			place.serve(conn)
		})
	}
}

// maxHeader bounds a header. The buffer holds what came behind it.
const maxHeader = 64 << 10

func (place Place) serve(conn *yamux.Stream) {
	in := bufio.NewReaderSize(conn, maxHeader)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return
	}
	var h Header
	if json.Unmarshal(line, &h) != nil || h.V != Version {
		return // the caller sees that nobody is there
	}
	if place == (Place{}) { // a keeper's
		if h.To == ToVerb {
			serveVerb(conn, in)
		}
		return
	}
	switch h.To {
	case ToPod:
		splice(conn, in, place.socket())
	case ToHost:
		if m, err := place.Home().Dir(h.ID).Load(); err == nil {
			splice(conn, in, m.Socket)
		}
	case ToStage:
		stage(conn, in, h)
	case ToExec:
		place.serveExec(conn, in)
	case ToSocket:
		relay(conn, in, h.Path)
	case ToFiles:
		// A fetch that fails ends before the archive does.
		if archive(conn, place.Home().Dir(h.ID).Path, h.SkipLog) == nil {
			_ = conn.Close()
		}
	}
}

// splice joins a connection with a socket of the pod.
func splice(conn *yamux.Stream, in io.Reader, socket string) {
	raw, err := rpc.Unix(socket)(context.Background())
	if err != nil {
		return
	}
	defer raw.Close() // Best effort: both ways have ended.
	Join(conn, in, raw.(*net.UnixConn), raw)
}

// Join passes bytes between two connections until both ways have ended: what is
// read from fromA goes to b, and what is read from fromB to a.
func Join(a io.WriteCloser, fromA io.Reader, b io.WriteCloser, fromB io.Reader) {
	var ways sync.WaitGroup
	ways.Go(func() {
		_, _ = io.Copy(b, fromA) // Best effort: whoever waits for more sees the end.
		closeWrite(b)
	})
	_, _ = io.Copy(a, fromB)
	closeWrite(a)
	ways.Wait()
}

// closeWrite says that nothing more will come.
func closeWrite(w io.WriteCloser) {
	if half, ok := w.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = w.Close() // a connection of a stream can still be read from then
}

// stage unpacks an archive below the header's directory.
func stage(conn io.Writer, in io.Reader, h Header) {
	out := json.NewEncoder(conn)
	o := provider.StageOptions{KeepExisting: h.Keep, Progress: func(path string) { _ = out.Encode(Progress{Path: path}) }}
	last := Progress{Done: true}
	if err := (local.Place{}).Stage(context.Background(), "in this pod", provider.Config{WorkDir: h.Dir}, in, o); err != nil {
		last.Error = rpc.FromError(err)
	}
	_ = out.Encode(last) // Best effort: a caller that left does not care.
}

// Call asks the pod's first process for one thing.
func Call(ctx context.Context, dial rpc.Dialer, version, method string, params, result any) error {
	c, err := rpc.Dial(ctx, dial, rpc.Target{Version: Version, Den: version, Name: "the pod's first process", Hint: "start the session anew with this den"})
	if err != nil {
		return dialed(ctx, err)
	}
	defer c.Close() // Best effort: the answer is here.
	return dialed(ctx, c.Call(ctx, method, params, result))
}

// dialed gives a broken connection its kind.
func dialed(ctx context.Context, err error) error {
	if rpc.IsBroken(err) && ctx.Err() == nil {
		return fault.Errorf(fault.Unreachable, "reach the pod's first process: %w", err)
	}
	return err
}

// archive writes a directory as a tar stream.
func archive(to io.Writer, dir string, skipLog bool) error {
	out := tar.NewWriter(to)
	if err := addTree(out, dir, skipLog); err != nil {
		return fmt.Errorf("archive %s: %w", dir, err)
	}
	return out.Close()
}

// ownFiles are those of a session's directory that mean nothing elsewhere.
var ownFiles = []string{"session.json", "lock", "s", "boot"}

// addTree adds the files of a session's directory. A file that is written
// meanwhile is cut where it was when its turn came.
func addTree(out *tar.Writer, dir string, skipLog bool) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() && rel == "log" && skipLog {
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() || slices.Contains(ownFiles, rel) {
			return nil
		}
		return addFile(out, path, rel)
	})
}

func addFile(out *tar.Writer, path, rel string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // Best effort: it was only read.
	fi, err := file.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: rel, Mode: int64(fi.Mode().Perm()), Size: fi.Size(), ModTime: fi.ModTime(), Typeflag: tar.TypeReg}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(out, file, fi.Size())
	return err
}

// drainLimit is how long what a command started may keep its outputs open after
// its end.
const drainLimit = 2 * time.Second

// serveExec runs one command beside the session for the connection's other end.
func (place Place) serveExec(conn *yamux.Stream, in io.Reader) {
	out := &frames{to: conn}
	v, err := place.startExec(in, out)
	v.serve(conn, in, out, err)
}

func (place Place) startExec(in io.Reader, out *frames) (*verb, error) {
	kind, raw, err := readFrame(in)
	if err != nil {
		return nil, fmt.Errorf("read the command: %w", err)
	}
	var c Command
	if kind != frameStart || json.Unmarshal(raw, &c) != nil {
		return nil, fault.Errorf(fault.Protocol, "the command is not understood")
	}
	mark := ExecMark + "=" + c.Mark
	cmd := exec.Command(place.Binary(), Verb, ModeExec, place.Dir, string(raw))
	cmd.Env = append(os.Environ(), mark) // it can be found from its first moment
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out.as(frameOut), out.as(frameErr), drainLimit
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	end := func() { _, _ = tree.Sweep(context.Background(), mark) } // Best effort: it may have ended.
	v := &verb{input: stdin, ended: make(chan struct{}), resize: func(pty.Size) error { return nil }, hangUp: end, kill: end}
	v.wait = func() int {
		_ = cmd.Wait() // how it ended is in its state
		close(v.ended)
		return status(cmd.ProcessState)
	}
	return v, nil
}

// RunOver runs a command over a connection to ToExec, and returns its status. in
// is nil, or is read to its end unless the command ends first: then a Read may
// still be under way. The stream's end ends the command, and so does that of the
// connection, unless input waits for the command: MethodEndExec always ends it.
func RunOver(conn net.Conn, c Command, in io.Reader, out, errs io.Writer) (code int, err error) {
	to := &frames{to: conn}
	if err := to.writeJSON(frameStart, c); err != nil {
		return 0, cutOff(err)
	}
	go func() { // ends with the input, or with the connection
		if in != nil {
			_, _ = io.Copy(to.as(frameIn), in) // Best effort: a command need not read its input.
		}
		_ = to.write(frameEOF, nil) // Best effort, as above.
	}()
	for {
		kind, data, err := readFrame(conn)
		if err != nil {
			return 0, cutOff(err)
		}
		switch kind {
		case frameOut:
			_, err = out.Write(data)
		case frameErr:
			_, err = errs.Write(data)
		case frameEnd:
			return ended(data)
		}
		if err != nil {
			return 0, err
		}
	}
}

func cutOff(err error) error {
	return fault.Errorf(fault.Unreachable, "the stream to a command broke: %w", err)
}

// relay listens at a socket of the pod, and passes what connects there on to the
// other end of the stream, until that ends the connection which asked for it.
func relay(conn *yamux.Stream, in io.Reader, path string) {
	answer := json.NewEncoder(conn)
	l, err := rpc.Listen(path)
	if err != nil {
		_ = answer.Encode(Progress{Done: true, Error: rpc.FromError(err)}) // Best effort: a caller that left does not care.
		return
	}
	// The next relay may listen there before this one is told that its stream is
	// cut: its socket stays.
	l.SetUnlinkOnClose(false)
	_ = answer.Encode(Progress{Path: path}) // Best effort, as above.
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() {
		_, _ = io.Copy(io.Discard, in) // nothing is said but the end
		_ = l.Close()                  // Best effort: Accept reports it.
	})
	defer conn.Close() // Best effort: whoever reads sees that nobody listens.
	for {
		local, err := l.AcceptUnix()
		if err != nil {
			return
		}
		parts.Go(func() { passOver(conn.Session(), local) })
	}
}

// passOver joins a connection of the pod with a new one to the other end.
func passOver(mux *yamux.Session, local *net.UnixConn) {
	defer local.Close() // Best effort: both ways have ended.
	if rpc.CheckClient(local) != nil {
		return
	}
	remote, err := mux.OpenStream()
	if err != nil {
		return // the caller sees that nobody is there
	}
	Join(remote, remote, local, local)
}
