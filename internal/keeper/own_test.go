package keeper_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"den/internal/fault"
	"den/internal/keeper"
	"den/internal/need"
)

// A state directory in which a link waits to be written through is refused.
func TestLinkedStateDirIsRefused(t *testing.T) {
	outside := t.TempDir()
	for _, link := range []string{".den", ".den/keeper.log", ".den/nudges", ".den/sources/x"} {
		s, err := keeper.At(filepath.Join(t.TempDir(), "den.toml"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(filepath.Dir(s.Config), link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "victim"), path); err != nil {
			t.Fatal(err)
		}
		if err := s.Make(); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s is a link: %v, want denied", link, err)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v", left, err)
	}
}

// Another user's files are refused, and a record of theirs is not read.
func TestStateDirOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		need.Feature(t, "making files of another user needs root")
	}
	const nobody = 65534
	for _, name := range []string{".", "nudges", "keeper.json"} {
		s := at(t)
		path := filepath.Join(s.Path, name)
		if name != "." {
			if err := os.WriteFile(path, []byte(`{"v":1,"socket":"/run/theirs"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if err := s.Make(); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %v, want denied", name, err)
		}
		if _, err := s.Load(); name == "keeper.json" && fault.KindOf(err) != fault.Denied {
			t.Errorf("load: %v, want denied", err)
		}
	}
}

// A file that is tracked by git came from elsewhere until it was up here once.
func TestTrackedWorkspaceIsForeign(t *testing.T) {
	need.Program(t, "git")
	m := newMachine(t)
	s := m.workspace("repo/sub/den.toml")
	if err := os.MkdirAll(filepath.Dir(s.Config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Config, []byte("x = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(m.dir, "repo")
	git := func(args ...string) {
		if out, err := exec.Command("git", append([]string{"-C", top}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	c := m.caller("home")
	check := func(what string, foreign bool) {
		t.Helper()
		if why, err := s.Foreign(c); err != nil || (why != "") != foreign {
			t.Errorf("%s: %q, %v", what, why, err)
		}
	}
	check("no repository", false)
	git("init", "-q")
	check("untracked", false)
	git("add", "sub/den.toml")
	check("tracked", true)
	m.establish(s, c)
	check("kept", false)
}
