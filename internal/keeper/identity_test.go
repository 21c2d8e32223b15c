package keeper_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session/home"
	"den/internal/testkit/need"
)

// machine is a user's environment in a directory of its own.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) *machine { return &machine{t: t, dir: t.TempDir()} }

// caller is somebody whose Home is called so.
func (m *machine) caller(name string) keeper.Caller {
	return keeper.Caller{Home: home.Home{Path: filepath.Join(m.dir, name)}, Getenv: func(key string) string {
		switch key {
		case "XDG_STATE_HOME":
			return filepath.Join(m.dir, "state")
		case "DEN_RUN_DIR":
			return filepath.Join(m.dir, "run-"+name)
		}
		return ""
	}}
}

func (m *machine) workspace(path string) keeper.StateDir {
	m.t.Helper()
	s, err := keeper.At(filepath.Join(m.dir, path))
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// establish keeps a workspace for a moment.
func (m *machine) establish(s keeper.StateDir, c keeper.Caller) keeper.Registration {
	m.t.Helper()
	if err := s.Make(); err != nil {
		m.t.Fatal(err)
	}
	r, err := s.Establish(c)
	if err != nil {
		m.t.Fatal(err)
	}
	if again, err := s.Identify(c); err != nil || again.Identity != r.Identity {
		m.t.Errorf("established as %+v, identified as %+v, %v", r, again, err)
	}
	return r
}

// A workspace is the same one for every caller.
func TestIdentityIsMadeOnce(t *testing.T) {
	m := newMachine(t)
	s := m.workspace("w/den.toml")
	if _, err := s.Identify(m.caller("home")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("never up: %v", err)
	}
	first := m.establish(s, m.caller("home"))
	if second := m.establish(s, m.caller("other")); second.Identity != first.Identity {
		t.Errorf("%+v became %+v", first, second)
	}
	if other := m.establish(m.workspace("w/other.toml"), m.caller("home")); other.ID == first.ID {
		t.Error("another file is the same workspace")
	}
}

// Also for one whose environment names neither its Home nor the list of Homes,
// as cron's does.
func TestIdentityInAnotherEnvironment(t *testing.T) {
	m := newMachine(t)
	s := m.workspace("w/den.toml")
	r := m.establish(s, m.caller("home"))
	if r.Mark == "" {
		need.Feature(t, "the file system of the test's directory does not tell when a file was made")
	}
	other := m.caller("another")
	other.Getenv = func(key string) string {
		if key == "XDG_STATE_HOME" || key == "DEN_RUN_DIR" {
			return filepath.Join(m.dir, "other", key)
		}
		return ""
	}
	if got, err := s.Identify(other); err != nil || got.Identity != r.Identity {
		t.Errorf("%+v, %v; want %+v", got, err, r)
	}
	// A copy of all of it is not it: not even where the copy took its place.
	if err := os.Rename(s.Path, s.Path+".was"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.Path, os.DirFS(s.Path+".was")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Identify(other); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a copy is %+v, %v", got, err)
	}
}

func TestMovedIsItself(t *testing.T) {
	m := newMachine(t)
	first := m.establish(m.workspace("w/den.toml"), m.caller("home"))
	if err := os.Rename(filepath.Join(m.dir, "w"), filepath.Join(m.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	moved := m.establish(m.workspace("moved/den.toml"), m.caller("other"))
	if moved.Identity != first.Identity || moved.StateDir != m.workspace("moved/den.toml").Path {
		t.Errorf("%+v became %+v", first, moved)
	}
}

// A copy is another workspace, and has nothing of what was on its way in the
// original; the original stays what it is.
func TestCopiedIsAnother(t *testing.T) {
	m := newMachine(t)
	original := m.workspace("w/den.toml")
	first := m.establish(original, m.caller("home"))
	for _, file := range []string{"state.json", "events.jsonl", "nudges/a/1.json"} {
		path := filepath.Join(original.Path, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(m.dir, "copy"), os.DirFS(filepath.Join(m.dir, "w"))); err != nil {
		t.Fatal(err)
	}
	copied := m.workspace("copy/den.toml")
	if _, err := copied.Identify(m.caller("home")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("before it was up: %v", err)
	}
	second := m.establish(copied, m.caller("home"))
	if second.ID == first.ID || second.TmuxSocket == first.TmuxSocket {
		t.Errorf("the copy is %+v, the original %+v", second, first)
	}
	for _, file := range []string{"state.json", "events.jsonl", "nudges"} {
		if _, err := os.Stat(filepath.Join(copied.Path, file)); err == nil {
			t.Errorf("the copy has the original's %s", file)
		}
	}
	if again := m.establish(original, m.caller("home")); again.Identity != first.Identity {
		t.Errorf("the original became %+v", again)
	}
}

// A state directory that was removed is found again by its path, whatever the
// caller's Home is.
func TestLostIsFoundAgain(t *testing.T) {
	m := newMachine(t)
	s := m.workspace("w/den.toml")
	first := m.establish(s, m.caller("home"))
	if err := os.RemoveAll(s.Path); err != nil {
		t.Fatal(err)
	}
	if again := m.establish(s, m.caller("other")); again.Identity != first.Identity {
		t.Errorf("%+v became %+v", first, again)
	}
}

// A state directory that came with a repository is not used: its identity is
// unknown to this machine's Homes, whatever Home it names.
func TestPlantedStateIsNotUsed(t *testing.T) {
	m := newMachine(t)
	c := m.caller("home")
	planted := filepath.Join(m.dir, "w", "planted")
	for name, identity := range map[string]string{
		"no identity":      "",
		"an unknown id":    `{"v":1,"id":"w0123456789abcdef","home":"` + c.Home.Path + `"}`,
		"a Home of theirs": `{"v":1,"id":"w0123456789abcdef","home":"` + planted + `"}`,
	} {
		s := m.workspace("w/" + name + ".toml")
		used := []string{
			filepath.Join(s.Nudges(), "agent", "1.json"), filepath.Join(s.Harness("agent"), "permission", "rules.json"), filepath.Join(s.Chat(), "accounts.json"), s.Decisive(), s.State(),
		}
		files := map[string]string{
			filepath.Join(planted, "workspaces", "w0123456789abcdef", "workspace.json"): `{"v":1,"id":"w0123456789abcdef","home":"` + planted + `","state_dir":"/none"}`,
		}
		if identity != "" {
			files[filepath.Join(s.Path, "workspace.json")] = identity
		}
		for _, path := range used {
			files[path] = "planted"
		}
		for path, text := range files {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(s.Config, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if why, err := s.Foreign(c); err != nil || why == "" {
			t.Errorf("%s: foreign: %q, %v", name, why, err)
		}
		r := m.establish(s, c)
		if r.ID == "w0123456789abcdef" || r.Home != c.Home.Path {
			t.Errorf("%s: the planted identity counts: %+v", name, r)
		}
		for _, path := range used {
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Errorf("%s: the planted %s is still there: %v", name, path, err)
			}
		}
		if why, err := s.Foreign(c); err != nil || why != "" {
			t.Errorf("%s: once kept: %q, %v", name, why, err)
		}
	}
}

func TestDamagedIdentity(t *testing.T) {
	m := newMachine(t)
	s := m.workspace("w/den.toml")
	first := m.establish(s, m.caller("home"))
	path := filepath.Join(s.Path, "workspace.json")
	for text, want := range map[string]fault.Kind{"{": fault.Storage, "{}": fault.Storage, `{"v":99,"id":"x"}`: fault.Protocol} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Identify(m.caller("home")); fault.KindOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := os.Remove(path); err != nil { // as the hint says
		t.Fatal(err)
	}
	if again := m.establish(s, m.caller("home")); again.Identity != first.Identity {
		t.Errorf("%+v became %+v", first, again)
	}
}
