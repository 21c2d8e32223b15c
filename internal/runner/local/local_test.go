package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/runner"
	"den/internal/runner/local"
	"den/internal/runner/spawntest"
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
