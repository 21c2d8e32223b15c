package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"den/internal/base/fault"
	"den/internal/base/httpguard"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// Path is where the server answers.
	Path = "/mcp"
	// maxBody bounds a request.
	maxBody = 4 << 20
	// lastAnswers is how long clients have to read them when the server ends.
	lastAnswers = 2 * time.Second
	// streamGrace is how long a client may take to open its stream again.
	streamGrace = 30 * time.Second
	// sessionHeader names the client's session in requests.
	sessionHeader = "Mcp-Session-Id"
)

// Listen opens a listener that only this machine reaches. An empty address is
// any free port.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := httpguard.Listen(ctx, "MCP clients", addr)
	if err != nil {
		return nil, err
	}
	if !httpguard.IsLoopback(l) {
		err := fault.Errorf(fault.Usage, "serve MCP clients on %s: other machines could reach it, and nothing is encrypted", addr)
		return nil, errors.Join(fault.Hintf(err, "use an address of this machine such as 127.0.0.1:0; 'ssh -L' leads there from elsewhere"), l.Close())
	}
	return l, nil
}

// URL is where clients reach a server that listens there.
func URL(l net.Listener) string { return "http://" + httpguard.HostPort(l) + Path }

// HTTP serves clients that have the token until ctx ends.
func (s *Server[C]) HTTP(ctx context.Context, l net.Listener, token string) error {
	here := newPresence(cmp.Or(s.o.StreamGrace, streamGrace), s.o.Silence, s.dismiss)
	mux := http.NewServeMux()
	mux.Handle(Path, here.watch(s.noticeEnd(http.MaxBytesHandler(s.streams(), maxBody))))
	h := &http.Server{
		Handler:           httpguard.Bearer(token, mux),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          s.o.Log,
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		here.stop()
		s.end()
		return fault.Errorf(fault.Internal, "serve MCP clients: %w", err)
	case <-ctx.Done():
	}
	here.stop()
	s.end()
	limited, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	err := h.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close() // who does not read by now is not waited for
	}
	<-served
	return err
}

// streams is the protocol's own part. Every client has a session: what belongs
// to it is found by that.
func (s *Server[C]) streams() http.Handler {
	same := func(*http.Request) *sdk.Server { return s.sdk }
	return sdk.NewStreamableHTTPHandler(same, &sdk.StreamableHTTPOptions{SessionTimeout: s.o.SessionIdle})
}

// dismiss ends the session of a client that is gone.
func (s *Server[C]) dismiss(id string) {
	s.hangUp(id)
	for of := range s.sdk.Sessions() {
		if of.ID() == id {
			_ = of.Close() // Best effort: nobody is there any more.
		}
	}
}

// noticeEnd ends the calls of a client that says goodbye: its connection is
// closed only when they have ended.
func (s *Server[C]) noticeEnd(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get(sessionHeader); r.Method == http.MethodDelete && id != "" {
			s.hangUp(id)
		}
		next.ServeHTTP(w, r)
	})
}
