package web_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/poll"
	"den/internal/testkit/browser"
	"den/internal/testkit/dashboardtest"
	"den/internal/testkit/need"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
	"den/internal/ui/dashboard/web"
)

// patience is how long a test waits for what must come; only a hang reaches it.
// A browser beside fifty floods and other busy programs gets little of a
// machine with two cores: a minute was too short.
const patience = 10 * time.Minute

var shots = flag.String("shots", "", "leave pictures of the page in this directory, to be looked at")

func TestMain(m *testing.M) { dashboardtest.Main(m, endBrowser) }

// chromium is the browser in which all tests open their tabs.
var chromium struct {
	once sync.Once
	*browser.Browser
	err error
}

func startBrowser() (*browser.Browser, error) {
	chromium.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		chromium.Browser, chromium.err = browser.Start(ctx)
	})
	return chromium.Browser, chromium.err
}

func endBrowser() {
	if chromium.Browser == nil {
		return // no test needed it
	}
	if err := chromium.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "end the browser: %v\n", err)
	}
}

// world is a Home with real sessions, a server that shows it, and a browser.
type world struct {
	*dashboardtest.World
	server *web.Server
	words  *safeBuffer // what the server logged
	stop   func()      // ends the server
}

// safeBuffer is written by the server while a test reads it.
type safeBuffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var _ io.Writer = (*safeBuffer)(nil)

// newWorld serves a Home; with a workspace, its agents too.
func newWorld(t *testing.T, workspace string, change ...func(*web.Options)) *world {
	t.Helper()
	w := &world{World: dashboardtest.New(t), words: &safeBuffer{}}
	m := dashboard.New(dashboard.Options{Home: w.Home})
	agents, err := nights.New(w.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	o := web.Options{Model: m, Nights: agents, Words: w.words, Audit: w.Home.PageActions()}
	if workspace != "" {
		if o.Workspace, err = fleet.At(workspace); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range change {
		c(&o)
	}
	if w.server, err = web.Listen(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		w.stop()
		m.Close()
	})
	return w
}

// eventually asks until the answer is yes, and fails the test if it never is.
func (w *world) eventually(what string, holds func() bool) {
	w.T.Helper()
	err := poll.Until(within(w.T), func() (bool, error) { return holds(), nil })
	if err != nil {
		w.T.Fatalf("never: %s", what)
	}
}

// within ends with the test's patience.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// browse opens the page in a real browser.
func (w *world) browse(width, height int) *tab {
	w.T.Helper()
	if _, err := browser.Path(); err != nil {
		need.Missing(w.T, "%v", err)
	}
	b, err := startBrowser()
	if err != nil {
		w.T.Fatal(err)
	}
	p, err := b.Open(within(w.T), w.server.URL(), width, height)
	if err != nil {
		w.T.Fatal(err)
	}
	tab := &tab{t: w.T, page: p}
	w.T.Cleanup(func() {
		for _, line := range p.Heard() {
			if tab.expected == "" || !strings.Contains(line, tab.expected) {
				w.T.Errorf("the page complains: %s", line)
			}
		}
		if err := p.Close(context.Background()); err != nil {
			w.T.Errorf("close the page: %v", err)
		}
	})
	return tab
}

// tab is a page whose steps must succeed.
type tab struct {
	t        *testing.T
	page     *browser.Page
	expected string // part of a complaint that belongs to the test, or empty
}

func (p *tab) until(expression string) {
	p.t.Helper()
	if err := p.page.Until(within(p.t), expression); err != nil {
		if data, err := p.page.Screenshot(context.Background()); err == nil {
			p.save("failed", data)
		}
		var where string
		if err := p.page.Eval(context.Background(), `location.hash + " " + JSON.stringify({ ...document.body.dataset })`, &where); err != nil {
			where = err.Error()
		}
		p.t.Fatalf("%v\nthe page is at %s", err, where)
	}
}

func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		if err := p.page.Press(within(p.t), key); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *tab) eval(expression string, result any) {
	p.t.Helper()
	if err := p.page.Eval(within(p.t), expression, result); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// shoot leaves a picture, if pictures are wanted.
func (p *tab) shoot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	data, err := p.page.Screenshot(within(p.t))
	p.must(err)
	p.save(name, data)
}

func (p *tab) save(name string, data []byte) {
	if *shots == "" {
		return
	}
	p.must(os.MkdirAll(*shots, 0o700))
	p.must(os.WriteFile(filepath.Join(*shots, name+".png"), data, 0o600))
}

// text is an expression for what the large screen shows, as text.
const text = `document.getElementById("text").innerText`
