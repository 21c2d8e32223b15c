package copilot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"den/internal/agent/runner"
)

// The CLI is told of the directories of skills that there are.
func TestSkillDirs(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(home, ".copilot/skills"), filepath.Join(work, ".agents/skills")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := Driver{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	want := []string{filepath.Join(home, ".copilot/skills"), filepath.Join(work, ".agents/skills")}
	if got := d.skillDirs(runner.Options{Dir: work}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := d.skillDirs(runner.Options{Dir: work, Env: map[string]string{"COPILOT_HOME": "/nowhere", "HOME": ""}}); !slices.Equal(got, want[1:]) {
		t.Errorf("%q, want %q", got, want[1:])
	}
	if got := (Driver{}).skillDirs(runner.Options{}); got != nil {
		t.Errorf("%q", got)
	}
}
