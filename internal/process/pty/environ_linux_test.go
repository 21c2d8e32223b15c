package pty_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"den/internal/process/pty"
)

// A process that executes programs all the time is found all the time.
func TestMarkedFindsWhatExecutes(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := "DEN_TEST_EXECUTES=" + filepath.Base(t.TempDir()) + t.Name()
	cmd := exec.Command("sh", script)
	cmd.Env = append(os.Environ(), mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill() // Best effort: it may have ended.
		cmd.Wait()         // Best effort: it was killed.
	}()
	for i := range 300 {
		if !slices.Contains(pty.Marked(mark), cmd.Process.Pid) {
			t.Fatalf("search %d did not find process %d", i, cmd.Process.Pid)
		}
	}
}
