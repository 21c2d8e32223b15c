package web

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/httpguard"
	"den/internal/session/home"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
	"den/internal/ui/served"
)

const (
	maxPages = 16 // connections of pages; more are refused
	maxFilms = 2  // recordings that are made at a time; more are refused
)

// Options is what a server is made with.
type Options struct {
	Model *dashboard.Model
	// Workspace is the agents' keeper, or nil: no agents are shown.
	Workspace *fleet.Keeper
	// Nights has the agents that sleep and wake, or nil: none are shown.
	Nights *nights.Model
	// AllowActions lets pages act: decide, answer, send messages, take over
	// terminals, stop. The server must then listen on a loopback address.
	AllowActions bool
	Audit        string    // the file that has all that pages did; only with AllowActions
	User         string    // who uses the pages, for audit logs
	Addr         string    // to listen on; "" = any port of the loopback interface
	Words        io.Writer // takes what goes wrong in the server itself; or nil
}

// Server shows a model to browsers.
type Server struct {
	model    *dashboard.Model
	nights   *nights.Model // or nil
	hub      *hub
	guard    *guard
	listener net.Listener
	words    *log.Logger
	pages    chan struct{} // a token for each page that may still connect
	films    chan struct{} // a token for each recording that may still be made
	actions  *actions      // or nil: pages only show
	work     sync.WaitGroup

	mu     sync.Mutex // guards the field below
	ending bool       // no request is begun any more
}

// Listen opens the listener. Requests are served by Serve.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if o.Words == nil {
		o.Words = io.Discard
	}
	l, err := httpguard.Listen(ctx, "the dashboard", o.Addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		model: o.Model, nights: o.Nights, hub: newHub(o), guard: newGuard(o.Addr), listener: l,
		words: log.New(o.Words, "den web: ", log.LstdFlags|log.LUTC|log.Lmsgprefix),
		pages: tokens(maxPages), films: tokens(maxFilms),
	}
	if o.AllowActions {
		if !s.Loopback() {
			err := fault.Errorf(fault.Usage, "serve the dashboard on %s: pages may act only where no other machine reaches them", o.Addr)
			return nil, errors.Join(fault.Hintf(err, "leave out --allow-actions, or the address"), l.Close())
		}
		if err := os.MkdirAll(filepath.Dir(o.Audit), 0o700); err != nil {
			return nil, errors.Join(fault.Errorf(fault.Storage, "make the place of the audit log: %w", err), l.Close())
		}
		s.actions = newActions(o, s.hub)
	}
	return s, nil
}

func tokens(n int) chan struct{} {
	c := make(chan struct{}, n)
	for range n {
		c <- struct{}{}
	}
	return c
}

// URL returns the address for a person. It contains the token: whoever has it
// sees all that the dashboard shows. Browsers send nobody what is behind the #.
func (s *Server) URL() string {
	return "http://" + httpguard.HostPort(s.listener) + "/#token=" + s.guard.token
}

// Loopback reports whether only this machine can connect.
func (s *Server) Loopback() bool { return httpguard.IsLoopback(s.listener) }

// Serve serves until ctx is done, and returns when all its goroutines have
// ended.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.work.Wait()
	defer s.end()
	defer cancel()
	s.work.Go(func() { s.hub.watch(ctx, s.model) })
	s.work.Go(func() { s.hub.ask(ctx) })
	s.work.Go(func() { s.hub.watchNights(ctx) })
	h := &http.Server{
		Handler:     s.awaited(s.guard.wrap(s.routes())),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          s.words,
	}
	stop := context.AfterFunc(ctx, func() {
		h.Close() // Best effort: Serve tells what matters. Pages end by their context.
	})
	defer stop()
	if err := h.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fault.Errorf(fault.Internal, "serve the dashboard: %w", err)
	}
	return nil
}

// awaited makes Serve wait for requests: http.Server waits neither for aborted
// requests nor for hijacked connections.
func (s *Server) awaited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.ending {
			s.mu.Unlock()
			return
		}
		s.work.Add(1)
		s.mu.Unlock()
		defer s.work.Done()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serveAsset("index.html"))
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { serveAsset(r.PathValue("name"))(w, r) })
	mux.HandleFunc("GET /assets/icons/{count}", serveIcon)
	mux.HandleFunc("GET /assets/page.js", serveJoined(types[".js"], pageScript))
	mux.HandleFunc("GET /assets/styles.css", serveJoined(types[".css"], pageStyles))
	mux.HandleFunc("GET /assets/fonts/{name}", serveFont)
	mux.HandleFunc("GET "+livePath, s.live)
	s.routePlaying(mux, "GET /api/sessions/{id}/", s.ofSession)
	if s.nights != nil {
		s.routeNights(mux)
	}
	if s.hub.keeper != nil {
		s.routeChannels(mux)
		mux.HandleFunc("GET /api/turns", answered(s.turns))
	}
	if s.actions != nil {
		s.actions.route(mux)
	}
	return mux
}

// guard admits only requests with the token, and none made by other pages. The
// page's own files are for everybody: they hold nothing that is secret.
//
// There is no cookie: one reaches every port of a host, and so whatever else
// listens on this machine.
type guard struct {
	token string // in the fragment of the address that is printed
	name  string // the host name that the server was told to listen on, or ""
}

func newGuard(listenOn string) *guard {
	g := &guard{token: httpguard.NewToken()}
	if host, _, err := net.SplitHostPort(listenOn); err == nil {
		g.name = host
	}
	return g
}

// wrap puts the checks before a handler, the cheapest first.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header(), r.Host)
		switch {
		case !httpguard.KnowsHost(r.Host, g.name):
			http.Error(w, "den does not answer to this name: use the address that it printed", http.StatusMisdirectedRequest)
		case fromElsewhere(r):
			http.Error(w, "den does not answer to other pages", http.StatusForbidden)
		case !isPublic(r) && !g.admitted(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "den: open the address that 'den dashboard --web' printed: each start of it makes a new one", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isPublic reports whether a request is for a file of the page.
func isPublic(r *http.Request) bool {
	return r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/assets/")
}

// admitted reports whether a request has the token: in a header, or as a
// subprotocol, which is all that a page can send with a WebSocket.
func (g *guard) admitted(r *http.Request) bool {
	return httpguard.Equal(httpguard.TokenOf(r), g.token) ||
		isSocket(r) && httpguard.Equal(httpguard.ProtocolTokenOf(r), g.token)
}

// isSocket reports whether a request is for a WebSocket.
func isSocket(r *http.Request) bool {
	return r.URL.Path == livePath || strings.HasPrefix(r.URL.Path, takePath)
}

// fromElsewhere reports whether another page asks. A link that leads to the
// page is fine: it shows nothing without the token.
func fromElsewhere(r *http.Request) bool {
	link := r.URL.Path == "/" && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	return !link && !httpguard.SameOrigin(r)
}

// harden sets headers that restrict the page to its own files and this server.
func harden(h http.Header, host string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; "+
		"connect-src 'self' ws://"+cleanHost(host)+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// cleanHost drops characters that cannot be part of a host name, because it
// comes from the request.
func cleanHost(host string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-:[]", r) {
			return r
		}
		return -1
	}, host)
}

type options struct {
	home string
	file string
	act  bool
}

// Main runs 'dend web' with the arguments after that word. It serves until it
// is told to stop, and returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	var o options
	f := flag.NewFlagSet("dend web", flag.ContinueOnError)
	f.StringVar(&o.home, "home", "", "the own Home, a `DIR` (default $DEN_HOME, else ~/.den)")
	f.StringVar(&o.file, "f", "den.toml", "the `FILE` of the workspace whose agents are shown")
	f.BoolVar(&o.act, "allow-actions", false, "let the page act: approve, answer, send messages, take over terminals, stop")
	usage := "Usage: dend web [flags] [ADDR]\n\nServe the dashboard on ADDR, HOST:PORT (default 127.0.0.1:0)."
	return served.Main(f, usage, args, stdout, stderr, func(ctx context.Context, words []string, asJSON bool) error {
		if len(words) > 1 {
			return fault.Errorf(fault.Usage, "one address, not %q", words)
		}
		return run(ctx, o, strings.Join(words, ""), asJSON, environ, stdout, stderr)
	})
}

func run(ctx context.Context, o options, addr string, asJSON bool, environ []string, stdout, stderr io.Writer) error {
	getenv := environment.Getter(environ)
	root, err := home.ResolveHome(o.home, getenv)
	if err != nil {
		return err
	}
	place, err := fleet.At(o.file)
	if err != nil {
		return err
	}
	agents, err := nights.New(getenv)
	if err != nil {
		fmt.Fprintln(stderr, "den: agents that sleep and wake are not shown:", err)
	}
	m := dashboard.New(dashboard.Options{Home: root, Registry: home.NewRegistry(getenv)})
	defer m.Close()
	s, err := Listen(ctx, Options{Model: m, Nights: agents, Workspace: place, AllowActions: o.act, Audit: root.PageActions(), User: environment.User(), Addr: addr, Words: stderr})
	if err != nil {
		return err
	}
	if !s.Loopback() {
		fmt.Fprintln(stderr, "den: other machines can reach this address, and nothing is encrypted: anybody on the way sees the screens and the token")
	}
	// This is the only place where the token is written.
	if err := served.Announce(stdout, "dashboard", asJSON, map[string]string{"url": s.URL()}, s.URL()); err != nil {
		return err
	}
	return s.Serve(ctx)
}
