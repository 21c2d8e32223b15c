package idle_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/place/provider/tmux/idle"
	"den/internal/process/pty"
)

// run starts a program on a terminal that this process holds.
func run(t *testing.T, argv ...string) (tty string, pid int) {
	t.Helper()
	p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	pid, err = p.Start(pty.Command{Argv: argv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		syscall.Wait4(pid, nil, 0, nil) // Best effort: nothing else is left of it.
	})
	return p.Name(), pid
}

func TestReaderWaits(t *testing.T) {
	tty, pid := run(t, "cat")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		waits, err := idle.Waits(os.Getpid(), tty, pid)
		if fault.KindOf(err) == fault.Unsupported {
			need.Feature(t, "this system does not tell: %v; run as root, or with kernel.yama.ptrace_scope=0", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("cat reads its terminal, and is not seen to wait")
		}
	}
}

func TestSleeperDoesNotWait(t *testing.T) {
	tty, pid := run(t, "sleep", "1000")
	for range 50 {
		if waits, err := idle.Waits(os.Getpid(), tty, pid); waits || err != nil && fault.KindOf(err) != fault.Unsupported {
			t.Fatalf("sleep: %v, %v", waits, err)
		}
	}
}

func TestNobodyHoldsIt(t *testing.T) {
	tty, pid := run(t, "cat")
	if _, err := idle.Waits(pid, tty, pid); fault.KindOf(err) != fault.NotRunning && fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a process that does not hold the terminal: %v", err)
	}
	if _, err := idle.Waits(os.Getpid(), "/dev/tty1", pid); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a console: %v", err)
	}
}
