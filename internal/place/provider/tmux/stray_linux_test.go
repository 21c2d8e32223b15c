package tmux_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"den/internal/process/pty"
)

// A process that bears a host's variable by accident is the session's like any
// other: only hosts are spared, and those have their ID among their arguments.
func TestStopEndsWhatBearsAHostsMarkByAccident(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	file := filepath.Join(t.TempDir(), "pid")
	start(t, p, "w", "bash", "-c", "(DEN_HOST=x setsid sh -c 'echo $$ > "+file+"; exec sleep 1077' &); exec sleep 1000")
	pid := 0
	eventually(t, "the stray process runs", func() bool {
		raw, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil && pid > 0
	})
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if line := pty.CommandLine(pid); strings.Contains(line, "1077") {
		t.Errorf("process %d (%s) survived", pid, line)
	}
}
