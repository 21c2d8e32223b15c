package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// With the disk full the session goes on, says so, and records again when it can.
func TestDiskFull(t *testing.T) {
	mount := smallFileSystem(t)
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
	w.awaitRecording("s")
	w.do("type", "s", "echo af''ter; exit", "--enter")
	w.do("wait", "s", "--exit")
	if out := w.do("snapshot", "s"); !strings.Contains(out, "full") || !strings.Contains(out, "after") {
		t.Errorf("the log did not go on with the screen that it had missed:\n%s", out)
	}
}

// With the disk full a cell runs all the same, its answer says what was not
// saved, and it is saved when there is room again.
func TestDiskFullInACell(t *testing.T) {
	mount := smallFileSystem(t)
	w := newWorldAt(t, filepath.Join(mount, "home"))
	w.do("new", "s", "bash", "--norc")
	if r := w.ask("run", "s", "echo before"); r["not_saved"] != nil || r["output"] != "before" {
		t.Fatalf("with room: %v", r)
	}
	ballast := filepath.Join(mount, "ballast")
	fill(t, ballast)

	during := w.ask("run", "s", "echo during")
	if saved, _ := during["not_saved"].(string); during["output"] != "during" || during["status"] != "done" || !strings.Contains(saved, "its record (no space left on device)") {
		t.Errorf("a short cell: %v", during)
	}
	long := w.ask("run", "s", "seq 1 100000")
	text, _ := long["output"].(string)
	if saved, _ := long["not_saved"].(string); !strings.Contains(saved, "its whole output (no space left on device)") || !strings.Contains(saved, "events of the session's log") {
		t.Errorf("a long cell: not saved: %q", saved)
	}
	if long["truncated"] != true || long["output_file"] != nil || !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n99999\n100000") {
		t.Errorf("a long cell: truncated %v, file %v, %d bytes", long["truncated"], long["output_file"], len(text))
	}
	written := w.ask("run", "s", "echo text > "+filepath.Join(mount, "file"))
	if text, _ := written["output"].(string); written["exit_code"] != 1.0 || !strings.Contains(text, "No space left on device") {
		t.Errorf("a program that writes: %v", written)
	}
	if _, said, _ := w.try("run", "s", "echo short"); !strings.Contains(said, "not saved: ") || !strings.Contains(said, "its record (no space left on device)") {
		t.Errorf("the command line says %q", said)
	}

	w.do("run", "s", "rm "+ballast) // a cell makes room
	w.awaitRecording("s")
	if r := w.ask("run", "s", "echo after"); r["not_saved"] != nil || r["output"] != "after" {
		t.Errorf("with room again: %v", r)
	}
	id, _ := during["cell_id"].(string)
	if r := w.ask("poll", "s", id); r["status"] != "done" || r["output"] != "during" {
		t.Errorf("saved late: %v", r)
	}
}

// awaitRecording waits until the log, for which there is room again, is written.
func (w *world) awaitRecording(name string) {
	w.t.Helper()
	for begun := time.Now(); w.ask("status", name)["log"].(map[string]any)["paused"] != nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			w.t.Fatal("recording does not go on although there is room again")
		}
	}
}

// smallFileSystem mounts 4 MiB.
func smallFileSystem(t *testing.T) string {
	t.Helper()
	need.Root(t, "mounting a small file system")
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=4m"); err != nil {
		need.Feature(t, "a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return mount
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
	need.Root(t, "becoming another user")
	w := newWorld(t)
	w.do("new", "dead", "sh", "-c", "echo remains; exit 2")
	w.do("wait", "dead", "--exit")
	w.do("new", "live", "sh", "-c", "echo lives; cat")
	w.do("wait", "live", "--text", "lives")
	w.awaitNoted("live") // the host writes the record no more
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
