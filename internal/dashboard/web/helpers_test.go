package web_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/dashboard"
	"den/internal/dashboard/web"
	"den/internal/dashboard/web/browser"
	"den/internal/fault"
	"den/internal/keeper"
	"den/internal/pty"
	"den/internal/session"
)

// patience is how long a test waits for what must come; only a hang reaches it.
const patience = 60 * time.Second

var shots = flag.String("shots", "", "leave pictures of the page in this directory, to be looked at")

// built is where the binaries are, or empty: no test needed them.
var built string

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "den-web-")
	if err != nil {
		return "", err
	}
	built = dir
	for _, name := range []string{"den", "dend"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "den/cmd/"+name).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return filepath.Join(dir, "den"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built) // Best effort: a temporary directory.
	}
	os.Exit(code)
}

// world is a Home with real sessions, a server that shows it, and a browser.
type world struct {
	t      *testing.T
	den    string
	env    []string
	home   session.Home
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
func newWorld(t *testing.T, workspace string) *world {
	t.Helper()
	den, err := build()
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, den: den, home: session.Home{Path: filepath.Join(t.TempDir(), "home")}, words: &safeBuffer{}}
	w.env = append(os.Environ(), "DEN_HOME="+w.home.Path, "DEN_RUN_DIR="+run, "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(),
		"SHELL=/bin/bash", "PS1=$ ", "DEN_SESSION=", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	m := dashboard.New(dashboard.Options{Home: w.home})
	o := web.Options{Model: m, Words: w.words}
	if workspace != "" {
		p, err := keeper.At(workspace)
		if err != nil {
			t.Fatal(err)
		}
		o.Workspace = &p
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
		w.endAll()
		os.RemoveAll(run)
	})
	return w
}

func (w *world) endAll() {
	dirs, err := w.home.All()
	if err != nil {
		w.t.Error(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			w.do("kill", d.ID)
		}
		if left := pty.Marked(session.ProgramMark + "=" + d.ID); len(left) > 0 {
			w.t.Errorf("session %s left processes %v", d.ID, left)
			d.Sweep()
		}
	}
}

func (w *world) do(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(w.den, args...)
	cmd.Env = w.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("den %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

func (w *world) dir(name string) session.Dir {
	w.t.Helper()
	d, err := w.home.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// within ends with the test's patience.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// browse opens the page in a real browser.
func (w *world) browse(width, height int) *tab {
	w.t.Helper()
	if _, err := browser.Path(); err != nil {
		w.t.Skipf("%v: %s", err, fault.HintOf(err))
	}
	ctx := within(w.t)
	b, err := browser.Start(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			w.t.Errorf("end the browser: %v", err)
		}
	})
	p, err := b.Open(ctx, w.server.URL(), width, height)
	if err != nil {
		w.t.Fatal(err)
	}
	tab := &tab{t: w.t, page: p}
	w.t.Cleanup(func() {
		for _, line := range b.Heard() {
			if tab.expected == "" || !strings.Contains(line, tab.expected) {
				w.t.Errorf("the page complains: %s", line)
			}
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
		p.t.Fatal(err)
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
