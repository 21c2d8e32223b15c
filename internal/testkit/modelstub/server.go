package modelstub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"den/internal/base/fault"
)

// Server is the stub. The zero value is not usable: see New.
type Server struct {
	listener net.Listener  // set once in Listen
	ids      atomic.Uint64 // of messages, calls and responses

	mu       sync.Mutex // guards the fields below
	rules    []*rule
	requests []Request
	news     chan struct{} // closed and made anew when a request comes
}

// New makes a stub without rules. It starts nothing.
func New() *Server { return &Server{news: make(chan struct{})} }

// Listen takes an address on loopback, such as 127.0.0.1:0.
func (s *Server) Listen(ctx context.Context, addr string) error {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for the model stub: %w", err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		l.Close()
		return fault.Hintf(fault.Errorf(fault.Denied, "listen for the model stub: %s is not loopback", addr), "use 127.0.0.1:0")
	}
	s.listener = l
	return nil
}

// URL is where it listens, without a path. Clients of OpenAI's dialects want
// "/v1" after it.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Serve answers until the context ends; it breaks off what is being answered
// then, and returns when nothing of it is left.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var handlers sync.WaitGroup
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			s.handle(w, r)
		}),
	}
	ended := make(chan error, 1) // one slot: the send cannot block
	go func() { ended <- server.Serve(s.listener) }()
	var err error
	select {
	case <-ctx.Done():
		server.Close() // Best effort: it closes what it can.
		err = <-ended
	case err = <-ended:
		cancel()
	}
	handlers.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the model stub: %w", err)
}

// TB is what Start needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
	Error(args ...any)
}

// Start serves on a free port of loopback until the test is over.
func Start(t TB) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := New()
	if err := s.Listen(ctx, "127.0.0.1:0"); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1) // one slot: the send cannot block
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// id makes names for the parts of answers.
func (s *Server) id(prefix string) string { return fmt.Sprintf("%s_stub%06d", prefix, s.ids.Add(1)) }
