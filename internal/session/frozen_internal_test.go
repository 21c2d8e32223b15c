package session

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

// Nobody waits for a process that was stopped before, or is stopped meanwhile.
func TestUntilStopped(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		need.Feature(t, "only Linux tells that a process is stopped")
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })
	meanwhile, end := untilStopped(t.Context(), sleep.Process.Pid)
	defer end()
	if err := sleep.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-meanwhile.Done()
	before, end := untilStopped(t.Context(), sleep.Process.Pid)
	defer end()
	<-before.Done()
}
