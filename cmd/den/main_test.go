package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/dentest"
)

// TestStart: no package of den's own does anything before main, as short verbs
// take hardly longer than their start. Package lazy makes what is needed later.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	if err := dentest.Build(dir, "den"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "den"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "init runtime @") {
		t.Fatalf("the runtime does not tell what it initialises:\n%s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "init den/") {
			t.Error(line)
		}
	}
}
