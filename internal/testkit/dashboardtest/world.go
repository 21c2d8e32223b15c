// Package dashboardtest gives the tests of the dashboards a Home with real
// sessions.
package dashboardtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"den/internal/base/environment"
	"den/internal/process/pty"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
)

// built is where the binaries are, or empty: no test needed them.
var built string

var build = sync.OnceValues(func() (den string, err error) {
	if built, err = os.MkdirTemp("", "den-dashboard-"); err != nil {
		return "", err
	}
	return filepath.Join(built, "den"), dentest.Build(built, "den", "dend")
})

// Main runs the tests, ends what they share, removes what was built for them,
// and exits.
func Main(m *testing.M, endShared ...func()) {
	code := m.Run()
	for _, end := range endShared {
		end()
	}
	if built != "" {
		os.RemoveAll(built) // Best effort: a temporary directory.
	}
	os.Exit(code)
}

// World is a Home of a test's own, and den to fill it.
type World struct {
	T     *testing.T
	Den   string
	Env   []string
	Home  home.Home
	State string // XDG_STATE_HOME
}

// New makes a World. All its sessions end with the test, and must have left
// nothing behind.
func New(t *testing.T) *World {
	t.Helper()
	den, err := build()
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, Den: den, Home: home.Home{Path: filepath.Join(t.TempDir(), "home")}, State: t.TempDir()}
	w.Env = append(os.Environ(), "DEN_HOME="+w.Home.Path, "DEN_RUN_DIR="+run, "HOME="+t.TempDir(), "XDG_STATE_HOME="+w.State,
		"XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(),
		"SHELL=/bin/bash", "PS1=$ ", "DEN_SESSION=", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	t.Cleanup(func() {
		w.EndAll(w.Home)
		os.RemoveAll(run) // Best effort: a temporary directory.
	})
	return w
}

// Getenv is the environment of den.
func (w *World) Getenv(key string) string { return environment.Getter(w.Env)(key) }

// EndAll ends the sessions of a Home.
func (w *World) EndAll(root home.Home) {
	dirs, err := root.All()
	if err != nil {
		w.T.Error(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			w.Do("--home", root.Path, "kill", d.ID)
		}
		if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
			w.T.Errorf("session %s left processes %v", d.ID, left)
			d.Sweep()
		}
	}
}

// Do runs den, which must succeed, and returns what it printed.
func (w *World) Do(args ...string) string {
	w.T.Helper()
	cmd := exec.Command(w.Den, args...)
	cmd.Env = w.Env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Fatalf("den %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// Dir finds a session.
func (w *World) Dir(name string) home.Dir {
	w.T.Helper()
	d, err := w.Home.Find(name)
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}
