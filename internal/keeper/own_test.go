package keeper_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/testkit/need"
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
	for _, form := range [][]string{{"--index-version", "4"}, {"--split-index"}} {
		git(append([]string{"update-index"}, form...)...)
		check("tracked, with the index in the form "+form[0], true)
	}
	index := filepath.Join(top, ".git", "index")
	if err := os.WriteFile(index, []byte("DIRC, but of a form that nobody knows yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with an index that is not understood", true)
	m.establish(s, c)
	check("kept", false)
}

// A file of this user that says that it came from elsewhere: with an archive, by
// a copy that keeps times, or with the checkout of another system than git.
func TestUnpackedWorkspaceIsForeign(t *testing.T) {
	m := newMachine(t)
	c := m.caller("home")
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-time.Hour)
	for name, come := range map[string]func(t *testing.T, top, config string){
		"unpacked": func(t *testing.T, top, config string) {
			need.Program(t, "tar")
			if runtime.GOOS != "linux" {
				need.Feature(t, "when a file came into being is known on Linux only")
			}
			packed := filepath.Join(t.TempDir(), "den.toml")
			write(t, packed, "x = 1\n")
			if err := os.Chtimes(packed, before, before); err != nil {
				t.Fatal(err)
			}
			archive := filepath.Join(t.TempDir(), "a.tar")
			for _, args := range [][]string{{"-cf", archive, "-C", filepath.Dir(packed), "den.toml"}, {"-xf", archive, "-C", filepath.Dir(config)}} {
				if out, err := exec.Command("tar", args...).CombinedOutput(); err != nil {
					t.Fatalf("tar: %v\n%s", err, out)
				}
			}
		},
		"hg": func(t *testing.T, top, _ string) {
			write(t, filepath.Join(top, ".hg/dirstate"), "\x00sub/den.toml\x00")
		},
		"hg two": func(t *testing.T, top, _ string) {
			write(t, filepath.Join(top, ".hg/dirstate.0af1"), "\x00sub/den.toml\x00")
		},
		"svn": func(t *testing.T, top, _ string) { write(t, filepath.Join(top, ".svn/wc.db"), "\x00sub/den.toml\x00") },
		"jj": func(t *testing.T, top, _ string) {
			write(t, filepath.Join(top, ".jj/working_copy/tree_state"), "sub/den.toml")
		},
		"fossil": func(t *testing.T, top, _ string) { write(t, filepath.Join(top, ".fslckout"), "sub/den.toml") },
	} {
		t.Run(name, func(t *testing.T) {
			s := m.workspace(name + "/sub/den.toml")
			top := filepath.Dir(filepath.Dir(s.Config))
			write(t, s.Config, "x = 1\n")
			if why, err := s.Foreign(c); err != nil || why != "" {
				t.Errorf("written here: %q, %v", why, err)
			}
			come(t, top, s.Config)
			if why, err := s.Foreign(c); err != nil || why == "" {
				t.Errorf("it came from elsewhere: %q, %v", why, err)
			}
			m.establish(s, c)
			if why, err := s.Foreign(c); err != nil || why != "" {
				t.Errorf("kept: %q, %v", why, err)
			}
		})
	}
}
