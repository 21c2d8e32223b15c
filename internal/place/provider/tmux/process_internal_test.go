package tmux

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A command may end after tmux has told its number, and the number may be
// another's when the processes are listed: only a child of the server counts.
func TestNumberOfAnEndedCommand(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	p, err := Open(Options{Socket: filepath.Join(t.TempDir(), "s"), Owner: "o"})
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[int]int{os.Getppid(): 0, os.Getpid(): 1} {
		found, err := p.processesOf("agent", &pane{id: "%1", pid: other.Process.Pid, server: server, start: "1"})()
		if err != nil || len(found) != want {
			t.Errorf("process %d of parent %d: found %v, %v; want %d", other.Process.Pid, server, found, err, want)
		}
	}
}
