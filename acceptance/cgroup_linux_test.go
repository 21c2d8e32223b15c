package acceptance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/session/home"
	"den/internal/testkit/need"
)

// hiding is a shell with a process that has left its tree's environment, one
// that bears a host's mark by accident, and one that is called as a host is.
const hiding = `(env -i setsid sleep 77 &); DEN_HOST=x sleep 77 & disown; DEN_HOST=77 sleep 77 & disown; echo up; cat`

func (w *world) hide(name string) (home.Dir, *home.Manifest) {
	w.do("new", name, "bash", "-c", hiding)
	w.do("wait", name, "--text", "up")
	d, err := w.home.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	if m.Cgroup == "" {
		need.Feature(w.t, "this user cannot create cgroups of version 2 here")
	}
	return d, m
}

func (w *world) checkCgroupGone(m *home.Manifest) {
	w.t.Helper()
	if raw, err := os.ReadFile(filepath.Join(m.Cgroup, "cgroup.procs")); err == nil {
		w.t.Errorf("cgroup %s is left, with processes %q", m.Cgroup, strings.Fields(string(raw)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		w.t.Error(err)
	}
}

// No process of a session outlives 'den kill', whatever its environment says,
// and its cgroup is gone with it.
func TestKillFindsWhatHides(t *testing.T) {
	w := newWorld(t)
	_, m := w.hide("s")
	w.do("kill", "s", "--grace", "100ms")
	w.checkCgroupGone(m)
}

// Nor does one outlive a host that was killed, once the session is killed.
func TestLostSessionLeavesNothing(t *testing.T) {
	w := newWorld(t)
	d, m := w.hide("s")
	gone, err := d.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gone
	if out := w.do("ls", "--all"); !strings.Contains(out, "lost") {
		t.Errorf("ls: %s", out)
	}
	w.do("kill", "s")
	w.checkCgroupGone(m)
}

// A session that is started inside another does not end with it.
func TestInnerSessionOutlivesTheOuter(t *testing.T) {
	w := newWorld(t)
	_, m := w.hide("outer")
	w.do("new", "shell", "bash", "--norc")
	w.do("run", "shell", w.den+" new inner cat")
	w.do("kill", "shell", "--grace", "100ms")
	if out := w.do("ls"); !strings.Contains(out, "inner") {
		t.Errorf("the inner session ended with the outer: %s", out)
	}
	w.do("kill", "inner")
	w.do("kill", "outer", "--grace", "100ms")
	w.checkCgroupGone(m)
}

// A host that hangs, and is not stopped by a signal, is frozen: calls end in
// their time, the screen is marked as past, and only force ends it.
func TestHangingHost(t *testing.T) {
	w := newWorld(t)
	d, m := w.hide("s")
	freezer := filepath.Join(filepath.Dir(m.Cgroup), "den-test-hang-"+d.ID)
	if err := os.Mkdir(freezer, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.WriteFile(filepath.Join(freezer, "cgroup.freeze"), []byte("0"), 0) // Best effort: see below.
		if err := syscall.Rmdir(freezer); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(freezer, "cgroup.procs"), []byte(strconv.Itoa(m.HostPID)), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(freezer, "cgroup.freeze"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", "s", "x", "-t", "100ms"}, {"wait", "s", "--text", "never", "-t", "100ms"}, {"kill", "s"}} {
		if _, said, code := w.try(args...); code != 6 || !strings.Contains(said, "does not answer") || !strings.Contains(said, "den kill --force s") {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
	if out := w.do("snapshot", "s", "-j"); !strings.Contains(out, `"frozen":true`) || !strings.Contains(out, "up") {
		t.Errorf("snapshot: %s", out)
	}
	w.do("kill", "s", "--force")
	w.checkCgroupGone(m)
}
