package container_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/place/provider/container"
	"den/internal/session/home"
	"den/internal/testkit/podmantest"
)

// slowCreate is an engine that has not begun to create a container when its
// client gives up, and creates it all the same.
type slowCreate struct {
	engine  http.Handler
	asked   chan struct{} // closed when a create has come
	removed chan struct{} // closed when a removal was answered
	created chan struct{} // closed when the engine has answered the create
}

func (s *slowCreate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/containers/create"):
		defer close(s.created)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err) // the client went before it had asked
		}
		close(s.asked)
		s.holdCreate(r.Context())
		// The engine does not stop for a client that went. (A context that can
		// end, or the proxy takes the client's.)
		goesOn, cancel := context.WithCancel(context.Background())
		defer cancel()
		r = r.WithContext(goesOn)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.engine.ServeHTTP(w, r)
	case r.Method == http.MethodDelete:
		s.engine.ServeHTTP(w, r)
		close(s.removed)
	default:
		s.engine.ServeHTTP(w, r)
	}
}

// holdCreate returns when a client that goes away has had its removal answered.
// One that stays is made to wait a moment.
func (s *slowCreate) holdCreate(client context.Context) {
	select {
	case <-client.Done():
		<-s.removed
	case <-time.After(300 * time.Millisecond):
	}
}

func slowEngine(t *testing.T, e *podmantest.Engine) (*slowCreate, string) {
	t.Helper()
	s := &slowCreate{engine: proxyTo(e), asked: make(chan struct{}), removed: make(chan struct{}), created: make(chan struct{})}
	return s, serveEngine(t, s)
}

// proxyTo passes requests on to the engine.
func proxyTo(e *podmantest.Engine) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of requests that the provider gives up
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", e.Socket)
	}}
	return proxy
}

// serveEngine serves an engine's requests until the test ends, and returns the
// socket.
func serveEngine(t *testing.T, engine http.Handler) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: engine}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close() // Best effort: the test is over.
		<-served
	})
	return socket
}

// A start that is given up while the engine creates its container leaves none,
// however late the engine is.
func TestStartGivenUpDuringCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	slow, socket := slowEngine(t, e)
	direct := opened(t, e, "city")
	p, err := container.Open(container.Options{
		Home: home.Home{Path: direct.Home.Path}, Owner: "city", Binary: e.Den, Version: "test", Engine: socket,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() // Best effort: idle connections.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-slow.asked
		cancel()
	}()
	if err := p.Start(ctx, "w", shell(t, "sleep 1000")); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want cancelled", err)
	}
	<-slow.created
	if left := containers(t, e, direct); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}
