package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/peer"
	"den/internal/wire"
)

// maxClients bounds the connections of a shim. One more is told that it is
// busy.
const maxClients = 64

// patience is how long a client may leave an answer unread, or hold a place
// without a word, before it is cut off.
const patience = 30 * time.Second

// server accepts clients on the session's socket.
type server struct {
	shim     *shim
	listener *net.UnixListener
	clients  sync.WaitGroup
	places   chan struct{} // one token a client; at the bound one is turned away
}

// listen opens the socket, closed to other users before anybody can connect.
func listen(s *shim, path string) (*server, error) {
	os.Remove(path) // Best effort: left by a shim that was killed; the lock says that we are the only one.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &server{shim: s, listener: l, places: make(chan struct{}, maxClients)}, nil
}

// accept serves clients until the listener is closed.
func (s *server) accept(ctx context.Context) {
	for {
		raw, err := s.listener.AcceptUnix()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				log.Printf("accept: %v", err)
			}
			return
		}
		s.clients.Go(func() { s.serve(ctx, raw) })
	}
}

// serve answers one client until it leaves.
func (s *server) serve(ctx context.Context, raw *net.UnixConn) {
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	conn := wire.NewConn(timedConn{raw}, wire.MaxRequest)
	if err := s.welcome(conn, raw); err != nil {
		// The client is told why; there is nobody else to tell.
		_ = conn.Write(Refusal{wire.Hello{V: Protocol, Den: s.shim.version}, wire.FromError(err)})
		return
	}
	defer func() { <-s.places }()
	for {
		var req wire.Request
		if err := conn.Read(&req); err != nil {
			if fault.KindOf(err) == fault.Protocol {
				_ = conn.Write(wire.Response{Error: wire.FromError(err)}) // Best effort: the client is cut off.
			}
			return
		}
		if err := conn.Write(s.answer(req)); err != nil {
			return
		}
	}
}

// Refusal is the hello of a shim that does not let a client in.
type Refusal struct {
	wire.Hello
	Error *wire.Error `json:"error,omitempty"`
}

// welcome checks who is there, gives them a place and exchanges versions.
func (s *server) welcome(conn *wire.Conn, raw *net.UnixConn) (err error) {
	if err := peer.Check(raw); err != nil {
		return err
	}
	select {
	case s.places <- struct{}{}:
	default:
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' has %d clients already", s.shim.boot.Name, maxClients), "try again in a moment")
	}
	defer func() {
		if err != nil {
			<-s.places
		}
	}()
	if err := conn.Write(wire.Hello{V: Protocol, Den: s.shim.version, ID: s.shim.boot.ID}); err != nil {
		return err
	}
	var theirs wire.Hello
	if err := conn.Read(&theirs); err != nil {
		return err
	}
	if theirs.V != Protocol {
		return fault.Errorf(fault.Protocol, "client speaks protocol %d, this shim speaks %d", theirs.V, Protocol)
	}
	return nil
}

func (s *server) answer(req wire.Request) wire.Response {
	s.shim.activity.note() // answering needs memory too
	result, err := s.shim.handle(req)
	if err != nil {
		return wire.Response{Error: wire.FromError(err)}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return wire.Response{Error: wire.FromError(fmt.Errorf("encode answer to %s: %w", req.Method, err))}
	}
	return wire.Response{Result: raw}
}

// timedConn cuts off a client that neither reads nor speaks.
type timedConn struct{ *net.UnixConn }

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}

func (c timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.UnixConn.Read(p)
}
