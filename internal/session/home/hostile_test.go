package home_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/session/home"
	"den/internal/testkit/need"
)

// A record is a file that others may have written. Whatever it names as its
// socket, marking the session as lost removes nothing but its own socket.
func TestReconcileRemovesNothingThatARecordNames(t *testing.T) {
	t.Setenv("DEN_RUN_DIR", shortDir(t))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root := home.Home{Path: t.TempDir()}
	for _, victim := range []string{file, socket} {
		d := record(t, root, home.Manifest{Name: "x", Status: home.Running, Socket: victim})
		m, err := d.Reconcile()
		if err != nil || m.Status != home.Lost {
			t.Errorf("reconcile: %+v, %v", m, err)
		}
		if _, err := os.Lstat(victim); err != nil {
			t.Errorf("%s was removed: %v", victim, err)
		}
	}
}

func TestReconcileRemovesTheLeftSocket(t *testing.T) {
	t.Setenv("DEN_RUN_DIR", shortDir(t))
	root := home.Home{Path: t.TempDir()}
	d := record(t, root, home.Manifest{Name: "x", Status: home.Running})
	path, err := home.RunPath(root.Path+"\x00"+d.ID, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := d.Reconcile(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestRecordOfAnotherSessionIsRefused(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	for _, m := range []home.Manifest{
		{ID: ident.New(time.Now()), Name: "x", Status: home.Exited},
		{Name: "../../../x", Status: home.Exited},
	} {
		d := record(t, root, home.Manifest{Name: "x", Status: home.Exited})
		if m.ID == "" {
			m.ID = d.ID
		}
		if err := d.Save(&m); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Load(); fault.KindOf(err) != fault.Storage {
			t.Errorf("record of %q (%q): %v, want storage", m.Name, m.ID, err)
		}
	}
}

func TestLinkedSessionDirectoryIsNoSession(t *testing.T) {
	victim := record(t, home.Home{Path: t.TempDir()}, home.Manifest{Name: "x", Status: home.Exited})
	root := home.Home{Path: t.TempDir()}
	if err := os.Mkdir(filepath.Join(root.Path, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim.Path, root.Dir(victim.ID).Path); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Find(victim.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("find: %v, want not found", err)
	}
}

// A container shares its session's directory, and its program can put links
// there.
func TestArtifactsFollowNoLinkOutOfTheSession(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	outside := t.TempDir()
	whole := record(t, root, home.Manifest{Name: "x", Status: home.Running})
	if err := os.Remove(whole.Artifacts()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, whole.Artifacts()); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.ArtifactPath("snapshot-1.json"); err == nil {
		t.Error("a linked directory of artifacts is used")
	}
	if err := whole.SaveArtifact(filepath.Join(whole.Artifacts(), "snapshot-1.json"), home.Artifact{Kind: "snapshot"}, []byte("x")); err == nil {
		t.Error("an artifact was saved in a linked directory")
	}
	list := record(t, root, home.Manifest{Name: "y", Status: home.Running})
	if err := os.Symlink(filepath.Join(outside, "list"), filepath.Join(list.Artifacts(), "manifest.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := list.SaveArtifact(filepath.Join(list.Artifacts(), "snapshot-1.json"), home.Artifact{Kind: "snapshot"}, []byte("x")); err == nil {
		t.Error("the list was written through a link")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside of the sessions: %v, %v", left, err)
	}
}

// den trusts what is in its Home. One that another user prepared is refused, and
// in one that somebody only looks at nothing is written.
func TestHomeOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		need.Feature(t, "making a directory of another user needs root")
	}
	root := home.Home{Path: t.TempDir()}
	d := record(t, root, home.Manifest{Name: "x", Status: home.Running})
	for name, prepare := range map[string]func() error{
		"another user's": func() error { return os.Chown(root.Path, 65534, 65534) },
		"open to all":    func() error { return errors.Join(os.Chown(root.Path, 0, 0), os.Chmod(root.Path, 0o777)) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := root.Create(t.Context(), spec("y", "true"), "/bin/false"); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: create: %v, want denied", name, err)
		}
		if _, err := root.Collect(time.Now(), home.GCOptions{}); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: collect: %v, want denied", name, err)
		}
		if m, err := d.Reconcile(); err != nil || m.Status != home.Lost {
			t.Errorf("%s: reconcile: %+v, %v", name, m, err)
		}
		if m, err := d.Load(); err != nil || m.Status != home.Running {
			t.Errorf("%s: the record was written: %+v, %v", name, m, err)
		}
	}
}

// A pipe or a huge file in a Home neither blocks a reader nor fills its memory.
func TestPipesAndHugeFilesAreRefused(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	for _, name := range []string{"session.json", "lock"} {
		for what, plant := range map[string]func(path string) error{
			"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a huge file": func(path string) error {
				return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 300<<20))
			},
		} {
			d := record(t, root, home.Manifest{Name: "x", Status: home.Running})
			path := filepath.Join(d.Path, name)
			os.RemoveAll(path) // Best effort: there may be none.
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			m, err := d.Reconcile()
			if name == "session.json" && fault.KindOf(err) != fault.Storage {
				t.Errorf("%s is %s: %+v, %v, want storage", name, what, m, err)
			}
		}
	}
}

// A record says in which run directory a socket is, and no more.
func TestRecordedSockets(t *testing.T) {
	d := home.Home{Path: t.TempDir()}.Dir(ident.New(time.Now()))
	run, open := shortDir(t), filepath.Join(shortDir(t), "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	const name = "0123456789abcdef"
	for path, want := range map[string]fault.Kind{
		filepath.Join(run, name):            "",
		filepath.Join(run, name, "s"):       "", // of a host that runs elsewhere
		filepath.Join(d.Path, "s"):          "",
		filepath.Join(run, "gone", name):    "", // nobody can listen there
		filepath.Join(open, name):           fault.Denied,
		filepath.Join(run, "agent.sock"):    fault.Denied,
		filepath.Join(run, "agent", "s"):    fault.Denied,
		filepath.Join(run, name[:14]):       fault.Denied,
		filepath.Join(d.Path, "..", "s"):    fault.Denied,
		"relative/" + name:                  fault.Denied,
		"":                                  fault.Denied,
		"/var/run/docker.sock":              fault.Denied,
		filepath.Join(d.Path, "other", "s"): fault.Denied,
	} {
		if err := d.CheckSocket(path); fault.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// A container may share the session's directory: what its program leaves there
// leads no look out of it, and hides none.
func TestLookFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	file := filepath.Join(outside, "file")
	if err := os.WriteFile(file, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(outside, "none")
	for name, leave := range map[string]func(looked string) error{
		"link to a file":     func(looked string) error { return os.Symlink(file, looked) },
		"link to no file":    func(looked string) error { return os.Symlink(none, looked) },
		"an empty directory": func(looked string) error { return os.Mkdir(looked, 0o700) },
	} {
		d := home.Dir{Path: t.TempDir(), ID: "s"}
		if err := leave(filepath.Join(d.Path, "looked")); err != nil {
			t.Fatal(err)
		}
		now := time.Now().Truncate(time.Second)
		if err := d.Look(now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if at := d.Looked(); !at.Equal(now) {
			t.Errorf("%s: looked at %v, want %v", name, at, now)
		}
	}
	if fi, err := os.Stat(file); err != nil || !fi.ModTime().Equal(old) {
		t.Errorf("the file outside: %v, %v, want time %v", fi, err, old)
	}
	if _, err := os.Lstat(none); err == nil {
		t.Errorf("%s was made", none)
	}
}
