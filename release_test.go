package den_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

// A release is prepared on a branch and reviewed; only what was merged into main is
// tagged.
func TestRelease(t *testing.T) {
	need.Program(t, "git")
	script, err := filepath.Abs("scripts/release")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a thing\n\n## [0.1.0] - 2026-01-01\n\n- an old one\n"
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := func(line string) (string, error) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RELEASE="+script, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	ok := func(line, want string) {
		t.Helper()
		if out, err := sh(line); err != nil || !strings.Contains(out, want) {
			t.Fatalf("%s: %v, %q, want %q", line, err, out, want)
		}
	}
	refused := func(line, want string) {
		t.Helper()
		if out, err := sh(line); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %q, want an error with %q", line, err, out, want)
		}
	}
	ok("git init -q -b main && git add . && git commit -qm begin", "")
	refused("sh $RELEASE finish 0.2.0", "prepare it first")
	refused("sh $RELEASE prepare 0.2", "no version")
	refused("touch new; sh $RELEASE prepare 0.2.0", "not committed")
	ok("rm new; sh $RELEASE prepare 0.2.0", "release-0.2.0")
	refused("sh $RELEASE finish 0.2.0", "on main")
	ok("git checkout -q main && git merge -q --ff-only release-0.2.0 && sh $RELEASE finish 0.2.0", "v0.2.0")
	ok("git describe --exact-match", "v0.2.0")
	ok("git tag -l -n9 v0.2.0", "- a thing")
	refused("git tag -l -n99 v0.2.0 | grep old", "")
	refused("sh $RELEASE finish 0.2.0", "there already")
	refused("sh $RELEASE prepare 0.3.0", "nothing is unreleased")
}
