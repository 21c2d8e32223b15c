package tmux

import (
	"os"
	"testing"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

// When a command ends, tmux closes its terminal, and the next one that anybody
// opens has its name: what waits there says nothing about the command.
func TestInputOfTheNextTerminal(t *testing.T) {
	t.Parallel()
	start := func() (*pty.PTY, int) {
		tty, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
		if err != nil {
			t.Fatal(err)
		}
		pid, err := tty.Start(pty.Command{Argv: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			tty.Close() // it hangs up on the program
			if p, err := os.FindProcess(pid); err == nil {
				p.Wait()
			}
		})
		return tty, pid
	}
	own, pid := start()
	next, _ := start()
	if _, err := (&pane{pid: pid, tty: own.Name()}).input(); err != nil {
		t.Errorf("the input of a running command: %v", err)
	}
	in, err := (&pane{pid: pid, tty: next.Name()}).input()
	if fault.KindOf(err) != fault.NotRunning {
		t.Errorf("the input of another terminal was taken for the command's: %+v, %v", in, err)
	}
}
