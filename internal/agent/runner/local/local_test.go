package local_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
	"den/internal/testkit/spawntest"
)

func TestConformance(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spawntest.Run(t, spawntest.Place{
		Spawner:      func(t *testing.T) runner.Spawner { return local.Spawner{Mark: t.Name()} },
		Dir:          dir,
		CommandLines: spawntest.OfThisMachine,
	})
}

// What a killed den left is found by the next one.
func TestClean(t *testing.T) {
	s := local.Spawner{Mark: t.Name()}
	left := exec.Command("sleep", "1000")
	left.Env = append(os.Environ(), "DEN_RUNNER_MARK="+t.Name())
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	if n, err := s.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}

// An agent's processes are in its sandbox, and the variables that are theirs are
// named to it.
func TestWrap(t *testing.T) {
	s := local.Spawner{Mark: t.Name(), Wrap: func(argv []string) []string { return append([]string{"env", "WRAPPED=yes"}, argv...) }}
	p, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"sh", "-c", `echo "$WRAPPED $DEN_SANDBOX_ENV"`}, Dir: t.TempDir(), Env: map[string]string{"GIVEN": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.Stdout())
	if err != nil || string(out) != "yes GIVEN\n" || p.Wait().Code != 0 {
		t.Errorf("%q, %v", out, err)
	}
}
