package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/session/home"
)

// world is a Home of its own and the binary to use it with.
type world struct {
	t    testing.TB
	home home.Home
	env  []string
	den  string // the test binary, under the name den
	uid  uint32 // who runs it; 0 is the one who runs the tests
	// ctx bounds what is run; or nil.
	ctx context.Context
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	return newWorldAt(t, filepath.Join(dir, "home"))
}

func newWorldAt(t testing.TB, root string) *world {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home.Home{Path: root, Explicit: true}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.den = filepath.Join(t.TempDir(), "den")
	if err := os.Symlink(self, w.den); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "DEN_HOME="+w.home.Path, "DEN_RUN_DIR="+run, "HOME="+t.TempDir(),
		"XDG_STATE_HOME="+t.TempDir(), "SHELL=/bin/bash", "PS1=$ ", "GORACE=atexit_sleep_ms=0", "DEN_SESSION=", "TERM=xterm-256color")
	t.Cleanup(func() {
		endSessions(t, w.home)
		os.RemoveAll(run)
	})
	return w
}

// denAsFile makes den a file of that name, not a link to the test: agents' programs
// run it as their hook, by its path alone.
func (w *world) denAsFile() {
	w.t.Helper()
	self, err := filepath.EvalSymlinks(w.den)
	if err == nil {
		w.den = filepath.Join(w.t.TempDir(), "den")
		err = os.Link(self, w.den)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// try runs den and returns its output and exit code.
func (w *world) try(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	return w.tryStdin("", args...)
}

// tryStdin is try with words on stdin.
func (w *world) tryStdin(stdin string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := exec.Command(w.den, args...)
	if w.ctx != nil {
		cmd = exec.CommandContext(w.ctx, w.den, args...)
		cmd.WaitDelay = time.Minute // what it started may hold its output
	}
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = w.env
	if w.uid != 0 {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: w.uid, Gid: w.uid}}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if w.ctx != nil && w.ctx.Err() != nil {
		w.t.Fatalf("den %s did not end: %v\n%s%s", strings.Join(args, " "), w.ctx.Err(), &out, &errOut)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// do runs den, which must succeed.
func (w *world) do(args ...string) string {
	w.t.Helper()
	out, errOut, code := w.try(args...)
	if code != 0 {
		w.t.Fatalf("den %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// ask runs den with --json and decodes the answer.
func (w *world) ask(args ...string) map[string]any {
	w.t.Helper()
	out := w.do(append(args, "-j")...)
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		w.t.Fatalf("den %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

func (w *world) pasteIn(name, text string) {
	w.t.Helper()
	if _, stderr, code := w.tryStdin(text, "paste", name, "-"); code != 0 {
		w.t.Fatalf("paste: exit %d: %s", code, stderr)
	}
}

// nobodyDir is a directory that belongs to the user nobody.
func nobodyDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "den-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return dir
}

// as returns the same world seen by another user, who has den as a file of
// their own to run.
func (w *world) as(uid uint32) *world {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	dir := nobodyDir(w.t.(*testing.T))
	other := *w
	other.den = filepath.Join(dir, "den")
	if out, err := exec.Command("cp", self, other.den).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(other.den, 0o755); err != nil {
		w.t.Fatal(err)
	}
	other.uid = uid
	return other.with("HOME="+dir, "XDG_STATE_HOME="+dir)
}

// within returns the same world, whose commands end before the context does.
func (w *world) within(ctx context.Context) *world {
	other := *w
	other.ctx = ctx
	return &other
}

// with returns the same world with variables added to its environment.
func (w *world) with(env ...string) *world {
	other := *w
	other.env = append(append([]string(nil), w.env...), env...)
	return &other
}
