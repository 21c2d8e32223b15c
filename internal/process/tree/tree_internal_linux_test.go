package tree

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// While somebody holds the lock to signal, a dead child keeps its number.
func TestReapsUnderTheLock(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	tree := Adopt(pid, Cgroup{})
	tree.mu.Lock()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	collected := make(chan bool)
	go func() { collected <- tree.collect() }()
	runtime.Gosched()
	if err := unix.Kill(pid, 0); err != nil {
		t.Errorf("the number is free while the lock is held: %v", err)
	}
	tree.mu.Unlock()
	if !<-collected || !tree.Over() {
		t.Error("it was not collected")
	}
}

// A process that got the number of another is left alone.
func TestSendsToExactlyOneProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := pty.Lookup(cmd.Process.Pid)
	if !ok {
		t.Fatal("it does not live")
	}
	send(pty.Process{PID: p.PID, Started: p.Started - 1}, unix.SIGKILL)
	send(p, unix.SIGTERM)
	cmd.Wait() // Best effort: how it ended is checked below.
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGTERM {
		t.Errorf("it ended by %v", status.Signal())
	}
}

// A process that was found by its mark may have ended before it is killed, and
// its number may be another's.
func TestKillMarkedLeavesOthers(t *testing.T) {
	start := func(env ...string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	other, marked := start("DEN_TEST_MARK=2"), start("DEN_TEST_MARK=1")
	killMarked(other.Process.Pid, "DEN_TEST_MARK=1")
	killMarked(marked.Process.Pid, "DEN_TEST_MARK=1")
	marked.Wait()
	if _, alive := pty.Lookup(other.Process.Pid); !alive {
		t.Error("a process without the mark was killed")
	}
	other.Process.Kill()
	other.Wait()
}
