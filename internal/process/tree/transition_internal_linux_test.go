package tree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

func TestParseLife(t *testing.T) {
	for stat, want := range map[string][2]bool{
		"7 (a) b) R 1 7 7 0 -1 4194308 0":  {true, true},
		"7 (sleep) S 1 7 7 0 -1 4194304 0": {true, false},
		"7 (sleep) Z 1 7 7 0 -1 4194316 0": {false, false},
		"7 (kworker) I 2 0 0 0 -1 2097156": {false, false},
		"7 (x) R":                          {false, false},
		"":                                 {false, false},
	} {
		if lives, exits := parseLife(stat); lives != want[0] || exits != want[1] {
			t.Errorf("%q: %v, %v", stat, lives, exits)
		}
	}
	if isInTransition(os.Getpid()) || isInTransition(1<<30) {
		t.Error("this process, or none, is in transition")
	}
}

// Once a process is killed and waited for in this way, its locks are free.
func TestLocksAreFree(t *testing.T) {
	need.Program(t, "flock")
	path := filepath.Join(t.TempDir(), "lock")
	for range 50 {
		holder := exec.Command("flock", path, "sh", "-c", "echo; exec sleep 1000")
		out, err := holder.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it has the lock
			t.Fatal(err)
		}
		if err := syscall.Kill(-holder.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// As den does: until nobody bears the mark, here any memory at all.
		for {
			if env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "environ")); err != nil || len(env) == 0 {
				break
			}
		}
		AwaitTransitions(context.Background())
		if state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "stat")); err == nil && exiting(string(state)) {
			t.Error("it is still on its way out")
		}
		holder.Wait() // Best effort: it was killed.
	}
}

func exiting(stat string) bool {
	lives, exits := parseLife(stat)
	return lives && exits
}
