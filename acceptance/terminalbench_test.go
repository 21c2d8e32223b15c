package acceptance

import (
	"os"
	"os/exec"
	"testing"

	"den/internal/testkit/dentest"
	"den/internal/testkit/need"
)

// TestTerminalBenchClass runs the tests, in Python, of the session class that
// makes den the terminal of Terminal-Bench and of Harbor.
func TestTerminalBenchClass(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"python3", "bash", "nano"} {
		need.Program(t, name)
	}
	bin := t.TempDir()
	if err := dentest.Build(bin, "den"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-m", "unittest", "-v")
	cmd.Dir = "../contrib/terminal-bench"
	cmd.Env = append(os.Environ(), "DEN_TEST_BIN="+bin, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
