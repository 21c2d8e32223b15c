package host

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

// maxClients bounds the connections of one host. One more is told that the
// host is busy.
const maxClients = 256

// requestQueue is how many requests of one client may wait while one is
// answered. At the bound the host stops reading from that client.
const requestQueue = 64

// writeLimit is how long a client may leave an answer unread before it is cut
// off. It can come back: nothing that it was owed is lost, the log has it.
const writeLimit = 30 * time.Second

// helloLimit is how long a client may hold a place without a word.
const helloLimit = 10 * time.Second

// server accepts clients on the session's socket.
type server struct {
	host     *Host
	listener *net.UnixListener

	mu      sync.Mutex // guards clients
	clients int
}

// listen opens the socket, closed to other users before anybody can connect.
func listen(path string) (*net.UnixListener, error) {
	os.Remove(path) // Best effort: left by a host that was killed; the lock says that we are the only one.
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

// accept serves clients until stop.
func (s *server) accept(ctx context.Context, clients *sync.WaitGroup) {
	for {
		raw, err := s.listener.AcceptUnix()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
				log.Printf("accept: %v", err)
			}
			return
		}
		clients.Go(func() { s.serve(ctx, raw) })
	}
}

// stop ends accept. The socket's file stays when another host takes over.
func (s *server) stop() {
	select {
	case <-s.host.upgrading:
		s.listener.SetDeadline(time.Now()) // Best effort: exec closes it at the latest.
	default:
		s.listener.Close() // also removes the file
	}
}

func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients >= maxClients {
		return false
	}
	s.clients++
	return true
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients--
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients
}

// serve answers one client until it leaves.
func (s *server) serve(ctx context.Context, raw *net.UnixConn) {
	defer raw.Close()
	conn := wire.NewConn(timedConn{raw}, wire.MaxRequest)
	if err := s.welcome(conn, raw); err != nil {
		// The client is told why; there is nobody else to tell.
		_ = conn.Write(struct {
			wire.Hello
			Error *wire.Error `json:"error"`
		}{wire.Hello{V: wire.Version, Den: s.host.version}, wire.FromError(err)})
		return
	}
	defer s.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	requests := make(chan wire.Request, requestQueue)
	var reader sync.WaitGroup
	defer func() {
		raw.Close() // unblocks the reader
		reader.Wait()
	}()
	reader.Go(func() {
		defer close(requests)
		defer cancel()
		for {
			var req wire.Request
			if err := conn.Read(&req); err != nil {
				if !errors.Is(err, io.EOF) && fault.KindOf(err) == fault.Protocol {
					_ = conn.Write(wire.Response{Error: wire.FromError(err)}) // Best effort: the client is cut off.
				}
				return
			}
			select {
			case requests <- req:
			case <-ctx.Done():
				return
			}
		}
	})
	for req := range requests {
		if err := s.answer(ctx, conn, req, requests); err != nil {
			return
		}
	}
}

// welcome checks who is there and exchanges versions.
func (s *server) welcome(conn *wire.Conn, raw *net.UnixConn) error {
	if err := peer.Check(raw); err != nil {
		return err
	}
	if !s.enter() {
		return fault.Errorf(fault.Busy, "session '%s' has %d clients already", s.host.manifest().Name, maxClients)
	}
	ok := false
	defer func() {
		if !ok {
			s.leave()
		}
	}()
	if err := conn.Write(wire.Hello{V: wire.Version, Den: s.host.version, ID: s.host.dir.ID}); err != nil {
		return err
	}
	var theirs wire.Hello
	if err := raw.SetReadDeadline(time.Now().Add(helloLimit)); err != nil {
		return err
	}
	if err := conn.Read(&theirs); err != nil {
		return err
	}
	if err := raw.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if theirs.V != wire.Version {
		return fault.Errorf(fault.Protocol, "client speaks protocol %d, this host speaks %d", theirs.V, wire.Version)
	}
	ok = true
	return nil
}

// answer handles one request. An error ends the connection.
func (s *server) answer(ctx context.Context, conn *wire.Conn, req wire.Request, more <-chan wire.Request) error {
	if req.Method == wire.MethodAttach {
		return s.host.attach(ctx, conn, req.Params, more)
	}
	s.host.core.stir() // answering needs memory too
	result, err := s.host.handle(ctx, req)
	if ctx.Err() != nil {
		return ctx.Err() // the client left
	}
	if err != nil {
		return conn.Write(wire.Response{Error: wire.FromError(err)})
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode answer to %s: %w", req.Method, err)
	}
	return conn.Write(wire.Response{Result: raw})
}

// timedConn cuts off a client that does not read.
type timedConn struct{ *net.UnixConn }

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return c.UnixConn.Write(p)
}
