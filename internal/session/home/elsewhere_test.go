package home_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
	"den/internal/testkit/dentest"
)

// buildDen builds the binary that hosts sessions.
func buildDen(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := dentest.Build(dir, "den"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "den")
}

// nextDoor runs hosts as processes that inherit nothing.
type nextDoor struct {
	binary    string
	started   *os.Process // the last one
	discarded []home.Place
}

func (n *nextDoor) Run(ctx context.Context, p home.Place) error {
	cmd := exec.Command(n.binary, p.Args...)
	cmd.Env = append(p.Env, "PATH="+os.Getenv("PATH"), "FLAVOUR=next door", "DEN_SESSION=lie")
	if err := cmd.Start(); err != nil {
		return err
	}
	n.started = cmd.Process
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("it ended: %w", errors.Join(err, errors.New("exit")))
	case <-ctx.Done():
		return ctx.Err() // its wait ends with the host
	}
}

func (n *nextDoor) Discard(p home.Place) error {
	n.discarded = append(n.discarded, p)
	if n.started != nil {
		n.started.Kill() // Best effort: it may have ended.
	}
	return nil
}

func elsewhere(t *testing.T) (home.Home, *nextDoor) {
	t.Helper()
	t.Setenv("DEN_RUN_DIR", shortDir(t))
	return home.Home{Path: t.TempDir(), Explicit: true}, &nextDoor{binary: buildDen(t)}
}

// long is a Home whose path leaves no room for sockets.
func long(h home.Home) home.Home {
	h.Path = filepath.Join(h.Path, strings.Repeat("long", 25))
	return h
}

// shortDir is a directory whose path leaves room for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "den")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func spec(name string, command ...string) home.Spec {
	return home.Spec{Name: name, Command: command, Cwd: "/", Term: "xterm-256color", Cols: 80, Rows: 24, RecordInput: "auto", Env: []string{"COLOUR=blue"}}
}

func TestHostElsewhere(t *testing.T) {
	root, e := elsewhere(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	root.Path = filepath.Join(root.Path, "h")
	for _, h := range []home.Home{root, long(root)} {
		hostElsewhere(ctx, t, h, e)
	}
}

func hostElsewhere(ctx context.Context, t *testing.T, root home.Home, e *nextDoor) {
	t.Helper()
	d, _, err := root.CreateElsewhere(ctx, spec("far", "sh", "-c", `echo "$FLAVOUR, $COLOUR, $DEN_SESSION, host:$DEN_HOST."; cat`), e)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := d.Inspect(); err != nil || now.Status != home.Running {
		t.Fatalf("after the creator let go of the lock: %+v, %v", now, err)
	}
	c, err := session.Dial(ctx, d, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := "next door, blue, far, host:."
	var seen wire.WaitResult
	if err := c.Call(ctx, wire.MethodWait, wire.Wait{Text: &text, Timeout: 2 * time.Minute}, &seen); err != nil || !seen.Matched {
		t.Fatalf("the program's environment: %+v, %v", seen, err)
	}
	if _, _, err := root.CreateElsewhere(ctx, spec("far", "true"), e); fault.KindOf(err) != fault.Busy {
		t.Fatalf("a second one of the name: %v, want busy", err)
	}
	if err := c.Call(ctx, wire.MethodKill, wire.Kill{Grace: time.Second}, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveRunDir(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(); err != nil {
		t.Fatalf("the record after the sockets went: %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("DEN_RUN_DIR")); err != nil || len(left) != 0 {
		t.Fatalf("left in the run directory: %v, %v", left, err)
	}
	if len(e.discarded) != 0 {
		t.Fatalf("discarded %v", e.discarded)
	}
}

func TestHostElsewhereThatFailsLeavesNothing(t *testing.T) {
	root, e := elsewhere(t)
	root = long(root)
	real := e.binary
	for _, c := range []struct {
		what, binary, want string
		command            string
	}{
		{"no such program", real, "den-no-such-program", "den-no-such-program"},
		{"a host that dies first", "/bin/false", "exit status 1", "true"},
		{"no host at all", filepath.Join(t.TempDir(), "gone"), "no such file", "true"},
	} {
		e.binary, e.discarded = c.binary, nil
		_, _, err := root.CreateElsewhere(t.Context(), spec("far", c.command), e)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if len(e.discarded) != 1 {
			t.Errorf("%s: discarded %v", c.what, e.discarded)
		}
		if all, err := root.All(); err != nil || len(all) != 0 {
			t.Errorf("%s: left %v, %v", c.what, all, err)
		}
		if left, err := os.ReadDir(os.Getenv("DEN_RUN_DIR")); err != nil || len(left) != 0 {
			t.Errorf("%s: left in the run directory: %v, %v", c.what, left, err)
		}
	}
}

func TestHostElsewhereThatIsKilledIsLost(t *testing.T) {
	root, e := elsewhere(t)
	d, m, err := root.CreateElsewhere(t.Context(), spec("far", "sleep", "1000"), e)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := d.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone: // the lock went with the only one that held it
	case <-time.After(2 * time.Minute):
		t.Fatal("somebody else holds the lock")
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		now, err := d.Reconcile()
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", now, err)
		}
		if now.Status == home.Lost {
			break
		}
	}
}

func TestHostElsewhereWithoutACaller(t *testing.T) {
	root, e := elsewhere(t)
	script := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e.binary = script
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, _, err := root.CreateElsewhere(ctx, spec("far", "true"), e)
	if !errors.Is(err, context.Canceled) || len(e.discarded) != 1 {
		t.Fatalf("%v, discarded %v", err, e.discarded)
	}
}
