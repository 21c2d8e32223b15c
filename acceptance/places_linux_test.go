package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With the disk full the session goes on, says so, and records again when it can.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root: run the tests as root to see this one")
	}
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w := newWorldAt(t, filepath.Join(mount, "home"))
	w.do("new", "s", "bash", "--norc")
	w.do("wait", "s", "--ready")
	w.do("type", "s", "echo be''fore", "--enter")
	w.do("wait", "s", "--text", "before")
	ballast := filepath.Join(mount, "ballast")
	fill(t, ballast)
	w.do("type", "s", "seq 1 50000; echo fu''ll", "--enter")
	w.do("wait", "s", "--text", "full") // the session goes on
	status := w.ask("status", "s")["log"].(map[string]any)
	if status["paused"] == nil || status["lost_events"] == nil {
		t.Fatalf("status does not say that nothing is recorded: %v", status)
	}
	if out := w.do("snapshot", "s"); !strings.Contains(out, "full") {
		t.Errorf("snapshot while the disk is full:\n%s", out)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if w.ask("status", "s")["log"].(map[string]any)["paused"] == nil {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("recording does not go on although there is room again")
		}
	}
	w.do("type", "s", "echo af''ter; exit", "--enter")
	w.do("wait", "s", "--exit")
	if out := w.do("snapshot", "s"); !strings.Contains(out, "full") || !strings.Contains(out, "after") {
		t.Errorf("the log did not go on with the screen that it had missed:\n%s", out)
	}
}

func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return // full
		}
	}
}

// Readers need no write access to a Home, and a session works for a user who
// is not root.
func TestReadOnlyHomeAndPlainUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root: run the tests as root to see this one")
	}
	w := newWorld(t)
	w.do("new", "dead", "sh", "-c", "echo remains; exit 2")
	w.do("wait", "dead", "--exit")
	w.do("new", "live", "sh", "-c", "echo lives; cat")
	w.do("wait", "live", "--text", "lives")
	open := func(path string) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Let another user read what is there: all of it, but write nothing.
	err := filepath.WalkDir(w.home.Path, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type()&os.ModeSymlink == 0 {
			open(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(w.home.Path); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		open(dir)
	}
	nobody := w.as(65534)
	if out := nobody.do("snapshot", "dead"); !strings.Contains(out, "remains") {
		t.Errorf("snapshot of a dead session: %s", out)
	}
	if out := nobody.do("ls", "--all"); !strings.Contains(out, "exited (2)") || !strings.Contains(out, "running") {
		t.Errorf("ls: %s", out)
	}
	if out := nobody.do("snapshot", "live", "--seq", "1"); !strings.Contains(out, "lives") {
		t.Errorf("past snapshot of a living session: %s", out)
	}
	if _, stderr, code := nobody.try("type", "live", "x"); code != 12 {
		t.Errorf("another user typed: exit %d: %s", code, stderr)
	}
	if _, stderr, code := nobody.try("new", "x", "true"); code != 12 {
		t.Errorf("new in a Home that cannot be written: exit %d: %s", code, stderr)
	}

	own := nobody.with("DEN_HOME="+nobodyDir(t), "DEN_RUN_DIR=", "XDG_RUNTIME_DIR=")
	own.do("new", "mine", "bash", "--norc")
	own.do("wait", "mine", "--ready")
	own.do("type", "mine", "id -u", "--enter")
	own.do("wait", "mine", "--text", "65534")
	own.do("kill", "mine")
}
