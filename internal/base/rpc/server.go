package rpc

import (
	"context"
	"den/internal/base/fault"
	"errors"
	"log"
	"net"
	"os"
	"sync"
	"time"
)

// A Handler answers one request. What it returns is the answer, or its last
// part if it sent others before. The context ends when the client leaves.
type Handler func(ctx context.Context, call *Call) (result any, err error)

// Call is one request that is being answered.
type Call struct {
	Request
	Den string // the client's build, for people
	// More are the requests that the client sends meanwhile. A handler may
	// take them; those that it leaves are answered after this one. It is closed
	// when no more will come.
	More <-chan Request

	frames *frames
	conn   *net.UnixConn
	hungUp bool
}

// Process returns the number of the process that asks.
func (c *Call) Process() (int, error) { return PeerProcess(c.conn) }

// Confined reports whether the caller is in a sandbox; see PeerConfined. A call
// without a connection is this process's own.
func (c *Call) Confined() bool { return c.conn != nil && PeerConfined(c.conn) }

// HangUp makes the connection end behind the answer. Requests that the handler
// has not taken are then not answered.
func (c *Call) HangUp() { c.hungUp = true }

// Send sends a part of the answer.
func (c *Call) Send(part any) error {
	return c.frames.write(answer{Stream: true, Result: part})
}

// answer is a Response whose result is not encoded yet.
type answer struct {
	Stream bool   `json:"stream,omitempty"`
	Result any    `json:"result,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// Limits bound what clients can make a server keep. Zero means the default.
type Limits struct {
	// Clients are the connections at once. One more takes the place of the
	// client that has been idle longest, if that is for at least Idle.
	// Otherwise it gets one of the Reserved places, where only urgent requests
	// are answered and others are told that the server is busy.
	Clients, Reserved int
	Idle              time.Duration

	Queue    int   // requests of one client that wait while one is answered; the server then stops reading from it
	Buffered int64 // bytes of long requests of all clients that are not answered yet; more are refused as busy

	Hello time.Duration // for a client's hello
	Line  time.Duration // for the rest of a request that has begun to arrive
	Write time.Duration // for a client to read its answer
	Grace time.Duration // for clients to take their last answers when the server stops
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Clients, 256)
	setDefault(&l.Reserved, 16)
	setDefault(&l.Idle, time.Second)
	setDefault(&l.Queue, 64)
	setDefault(&l.Buffered, 64<<20)
	setDefault(&l.Hello, 10*time.Second)
	setDefault(&l.Line, 30*time.Second)
	setDefault(&l.Write, 30*time.Second)
	setDefault(&l.Grace, time.Second)
	return l
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// Config says what a server is.
type Config struct {
	Version int    // of the protocol
	Den     string // the build's version, for people
	ID      string // what clients check in the hello; or empty
	Kind    string // what it is, as in "this host speaks 1"
	Name    string // whose clients they are, as in "session 'x' has 256 clients already"

	Handler Handler
	// Urgent tells the methods that are answered even when all places are
	// taken: those that end things. Or nil: none.
	Urgent func(method string) bool
	Limits Limits
}

// Server answers the clients of one socket.
type Server struct {
	Config
	budget *budget
	socket socket

	mu       sync.Mutex // guards the fields below, and those of clients that say so
	clients  map[*client]struct{}
	draining bool // no more clients; those that are idle leave
	closed   bool // all clients are cut off
}

// NewServer returns a server that serves nobody yet.
func NewServer(c Config) *Server {
	c.Limits = c.Limits.withDefaults()
	return &Server{Config: c, budget: newBudget(c.Limits.Buffered)}
}

// acceptPause is how long to wait after a failed accept: the process may be
// out of descriptors, which clients that leave give back.
const acceptPause = 100 * time.Millisecond

// Serve answers clients until the listener is closed or reaches its deadline,
// or until the context ends, which ends what is asked as well. It returns when
// all clients have gone: those that wait for an answer may take it within the
// grace period. It may then be called again.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) {
	s.mu.Lock()
	s.clients, s.draining, s.closed = map[*client]struct{}{}, false, false
	s.mu.Unlock()
	s.socket.open(l)
	defer context.AfterFunc(ctx, s.socket.close)()
	var clients sync.WaitGroup
	for ; l != nil; l = s.socket.next(l) {
		s.accept(ctx, l, &clients)
	}
	s.drain()
	cut := time.AfterFunc(s.Limits.Grace, s.cutAll)
	defer cut.Stop()
	clients.Wait()
}

func (s *Server) accept(ctx context.Context, l *net.UnixListener, clients *sync.WaitGroup) {
	complained := false
	for {
		raw, err := l.AcceptUnix()
		switch {
		case err == nil:
			complained = false
			clients.Go(func() { s.serve(ctx, raw) })
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		default:
			if !complained {
				log.Printf("accept: %v", err)
				complained = true
			}
			time.Sleep(acceptPause)
		}
	}
}

// Clients returns how many there are.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// drain lets the clients leave. Those that have not asked anything yet may
// still do so.
func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for c := range s.clients {
		if c.asked && c.idle() {
			c.stopReading()
		}
	}
}

func (s *Server) cutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.clients {
		c.raw.Close() // Best effort: it only ends the client's goroutines.
	}
}

// enter gives a client a place: a free one, that of a client which has been
// idle for long, or a reserved one.
func (s *Server) enter(c *client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.Errorf(fault.NotRunning, "this %s is about to end", s.Kind)
	}
	c.idleSince = time.Now()
	c.reserved = s.countLocked(false) >= s.Limits.Clients && !s.evictLocked(false, c.idleSince)
	if c.reserved && s.countLocked(true) >= s.Limits.Reserved && !s.evictLocked(true, c.idleSince) {
		return s.full()
	}
	s.clients[c] = struct{}{}
	return nil
}

func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

func (s *Server) full() error {
	return fault.Hintf(fault.Errorf(fault.Busy, "%s has %d clients already", s.Name, s.Limits.Clients), "try again in a moment")
}

func (s *Server) countLocked(reserved bool) (n int) {
	for c := range s.clients {
		if c.reserved == reserved {
			n++
		}
	}
	return n
}

// evictLocked cuts off the client that has been idle longest, if that is long
// enough: one that is about to ask must not lose its place to the next.
func (s *Server) evictLocked(reserved bool, now time.Time) bool {
	var longest *client
	for c := range s.clients {
		if c.reserved == reserved && c.idle() && (longest == nil || c.idleSince.Before(longest.idleSince)) {
			longest = c
		}
	}
	if longest == nil || now.Sub(longest.idleSince) < s.Limits.Idle {
		return false
	}
	delete(s.clients, longest)
	longest.raw.Close() // Best effort: it only ends the client's goroutines.
	return true
}
