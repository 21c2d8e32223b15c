package podhost

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider"
	"den/internal/place/provider/local"

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
