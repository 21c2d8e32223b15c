package tree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/process/pty"
	"den/internal/process/tree"
)

func detached(t *testing.T) (d tree.Detached, mark string) {
	mark = "SUPERVISE_DETACHED=" + t.TempDir()
	return tree.Detached{
		Binary: os.Args[0], Argv: []string{"it"}, Dir: "/", Log: filepath.Join(t.TempDir(), "log"),
		Env: []string{roleKey + "=detached", mark, "GORACE=atexit_sleep_ms=0"},
	}, mark
}

func TestDetached(t *testing.T) {
	d, mark := detached(t)
	var said string
	proc, err := d.Start(t.Context(), "hello", &said)
	if err != nil || said != "hello" {
		t.Fatalf("it said %q, %v", said, err)
	}
	if pids := pty.Marked(mark); len(pids) != 1 || pids[0] != proc.Pid {
		t.Errorf("processes %v, want %d", pids, proc.Pid)
	}
	tree.Discard(proc)
	if pids := pty.Marked(mark); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

func TestDetachedThatFails(t *testing.T) {
	d, mark := detached(t)
	var said string
	if _, err := d.Start(t.Context(), "fail", &said); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("its log is not in the error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Start(ctx, "hang", &said); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that is given up: %v", err)
	}
	d.Binary = "/nothing/here"
	if _, err := d.Start(t.Context(), "hello", &said); err == nil {
		t.Error("what cannot be run was started")
	}
	if pids := pty.Marked(mark); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// Processes that bear a mark are ended, also those that fork meanwhile.
func TestSweep(t *testing.T) {
	h := holdTree(t, `trap "" HUP TERM; (while :; do (sleep 0.01 &); done) & (setsid sleep 1000 &); echo up; wait`)
	killed, err := tree.Sweep(t.Context(), h.mark)
	if left := pty.Marked(h.mark); err != nil || killed < 3 || len(left) > 0 {
		t.Errorf("killed %d, %v; left %v", killed, err, left)
	}
	h.cmd.Wait() // Best effort: it was killed too.
}
