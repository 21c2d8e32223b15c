package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/peer"
	"den/internal/wire"
)

// The bounds of the socket. A client beyond maxClients is told that the keeper
// is busy; one that does not read its answer, or says nothing, is cut off.
const (
	maxClients = 128
	patience   = 30 * time.Second
)

// A Handler answers requests. part sends a part of a streamed answer.
type Handler interface {
	Handle(ctx context.Context, method string, params json.RawMessage, part func(any) error) (result any, err error)
}

// Listen opens the socket, closed to other users before anybody can connect.
// The caller holds the workspace's lock, so a socket that is there is stale.
func Listen(path string) (*net.UnixListener, error) {
	os.Remove(path) // Best effort: Listen says what is wrong.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Serve answers clients until the context ends, and returns when all have had
// their answers or are cut off.
func Serve(ctx context.Context, l *net.UnixListener, h Handler, version string) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	places := make(chan struct{}, maxClients)
	for {
		raw, err := l.AcceptUnix()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				log.Printf("accept: %v", err)
			}
			return
		}
		clients.Go(func() {
			defer raw.Close()
			defer context.AfterFunc(ctx, func() { raw.SetReadDeadline(time.Now()) })() // an answer may still go out
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				serve(ctx, raw, h, version)
			default:
				refuse(raw, version, fault.Errorf(fault.Busy, "the keeper has %d clients already", maxClients))
			}
		})
	}
}

// timed cuts off a client that does not read.
type timed struct{ *net.UnixConn }

func (c timed) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}

type hello struct {
	wire.Hello
	Error *wire.Error `json:"error,omitempty"`
}

func refuse(raw *net.UnixConn, version string, err error) {
	// The client is told why; there is nobody else to tell.
	_ = wire.NewConn(timed{raw}, wire.MaxRequest).Write(hello{wire.Hello{V: Version, Den: version}, wire.FromError(err)})
}

func serve(ctx context.Context, raw *net.UnixConn, h Handler, version string) {
	conn := wire.NewConn(timed{raw}, wire.MaxRequest)
	if err := welcome(conn, raw, version); err != nil {
		refuse(raw, version, err)
		return
	}
	// Looked at after every deadline that was taken back: the one that the
	// context's end set may have been among them.
	for ctx.Err() == nil {
		var req wire.Request
		if err := conn.Read(&req); err != nil {
			if !errors.Is(err, io.EOF) && fault.KindOf(err) == fault.Protocol {
				_ = conn.Write(wire.Response{Error: wire.FromError(err)}) // Best effort: the client is cut off.
			}
			return
		}
		if err := answer(ctx, conn, raw, req, h); err != nil {
			return
		}
	}
}

func welcome(conn *wire.Conn, raw *net.UnixConn, version string) error {
	if err := peer.Check(raw); err != nil {
		return err
	}
	if err := conn.Write(hello{Hello: wire.Hello{V: Version, Den: version}}); err != nil {
		return err
	}
	if err := raw.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var theirs wire.Hello
	if err := conn.Read(&theirs); err != nil {
		return err
	}
	if theirs.V != Version {
		return fault.Errorf(fault.Protocol, "the client speaks protocol %d, this keeper speaks %d", theirs.V, Version)
	}
	return raw.SetReadDeadline(time.Time{})
}

// answer handles one request. The client may leave while it is handled.
func answer(ctx context.Context, conn *wire.Conn, raw *net.UnixConn, req wire.Request, h Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		// A client sends nothing while it waits: what ends this read is its
		// leaving, or the deadline below.
		var one [1]byte
		if _, err := raw.Read(one[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			cancel()
		}
	}()
	result, err := h.Handle(ctx, req.Method, req.Params, func(v any) error {
		part, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return conn.Write(wire.Response{Stream: true, Result: part})
	})
	raw.SetReadDeadline(time.Now()) // ends the watch
	<-left
	if err := raw.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err != nil {
		return conn.Write(wire.Response{Error: wire.FromError(err)})
	}
	last, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode answer to %s: %w", req.Method, err)
	}
	return conn.Write(wire.Response{Result: last})
}
