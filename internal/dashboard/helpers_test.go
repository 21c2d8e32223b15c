package dashboard_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/dashboard"
	"den/internal/pty"
	"den/internal/session"
)

// patience is how long a test waits for what must come; only a hang reaches it.
const patience = 30 * time.Second

// built is where the binaries are, or empty: no test needed them.
var built string

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "den-dashboard-")
	if err != nil {
		return "", err
	}
	built = dir
	den := filepath.Join(dir, "den")
	if out, err := exec.Command("go", "build", "-o", den, "den/cmd/den").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build den: %w\n%s", err, out)
	}
	return den, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built) // Best effort: a temporary directory.
	}
	os.Exit(code)
}

// world is a Home with real sessions, and a model that looks at it.
type world struct {
	t     *testing.T
	den   string
	env   []string
	home  session.Home
	model *dashboard.Model
}

func newWorld(t *testing.T) *world {
	t.Helper()
	den, err := build()
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	w := &world{t: t, den: den, home: session.Home{Path: filepath.Join(t.TempDir(), "home")}}
	w.env = append(os.Environ(), "DEN_HOME="+w.home.Path, "DEN_RUN_DIR="+run, "HOME="+t.TempDir(), "XDG_STATE_HOME="+state,
		"SHELL=/bin/bash", "PS1=$ ", "DEN_SESSION=", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	w.model = dashboard.New(dashboard.Options{
		Home:     w.home,
		Registry: session.NewRegistry(func(k string) string { return map[string]string{"XDG_STATE_HOME": state}[k] }),
	})
	t.Cleanup(func() {
		w.model.Close()
		w.endAll(w.home)
		os.RemoveAll(run)
	})
	return w
}

func (w *world) endAll(home session.Home) {
	dirs, err := home.All()
	if err != nil {
		w.t.Error(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			w.do("--home", home.Path, "kill", d.ID)
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

// ctx ends with the test's patience.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until reads frames until one is as wanted.
func until(t *testing.T, v *dashboard.View, what string, ok func(*dashboard.Frame) bool) *dashboard.Frame {
	t.Helper()
	ctx := within(t)
	var last *dashboard.Frame
	for {
		f, err := v.Next(ctx)
		if err != nil {
			t.Fatalf("no frame shows %s: %v; the last: %+v", what, err, last)
		}
		if last = f; ok(f) {
			return f
		}
	}
}

func shows(text string) func(*dashboard.Frame) bool {
	return func(f *dashboard.Frame) bool { return strings.Contains(f.Screen.Text, text) }
}
