package tree

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/testkit/need"
)

func TestUnifiedPath(t *testing.T) {
	for file, want := range map[string]string{
		"0::/\n":                               "/",
		"9:name=systemd:/x\n1:cpu:/y\n0::/a/b": "/a/b",
		"0::/a/den-session-id\n":               "/a",
		"0::/den-session-id/below\n":           "/",
		"0::/../outside\n":                     "",
		"9:name=systemd:/x\n":                  "",
		"":                                     "",
	} {
		if got, ok := unifiedPath([]byte(file)); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", file, got, ok)
		}
	}
}

func TestBelongs(t *testing.T) {
	for path, want := range map[string]bool{
		"/sys/fs/cgroup/den-session-id":           true,
		"/sys/fs/cgroup/unified/a/den-session-id": true,
		"/sys/fs/cgroup/den-session-other":        false,
		"/sys/fs/cgroup/system.slice":             false,
		"/sys/fs/cgroup/../den-session-id":        false,
		"/tmp/den-session-id":                     false,
		"":                                        false,
	} {
		if got := (Cgroup{Path: path}).Belongs("id"); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// Whatever a process does to its parents and its environment, it is ended with
// its cgroup, and the cgroup is removed.
func TestCgroupSweep(t *testing.T) {
	c := NewCgroup("tree-test-" + strconv.Itoa(os.Getpid()))
	if c.Path == "" {
		need.Feature(t, "this user cannot create cgroups of version 2 here")
	}
	defer c.Remove()
	dir, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd := exec.Command("sh", "-c", `(env -i setsid sh -c '(env -i DEN_HOST=x setsid sleep 1000 &)' &); (env -i DEN_HOST=1077 setsid sleep 1077 &); echo up; exec env -i sleep 1000`)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	pty.InCgroup(cmd.SysProcAttr, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if len(c.own()) == 0 {
		t.Error("no process is in the cgroup")
	}
	killed, err := c.Sweep()
	if err != nil || killed == 0 {
		t.Errorf("killed %d, %v", killed, err)
	}
	if _, err := os.Stat(c.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup is left: %v", err)
	}
	cmd.Wait() // Best effort: it was killed.
	if killed, err := c.Sweep(); killed != 0 || err != nil {
		t.Errorf("a cgroup that is gone: %d, %v", killed, err)
	}
}

// Empty cgroups of sessions are removed once they are old enough. One with
// processes stays, and so does one that is not a session's.
func TestRemoveEmptyCgroups(t *testing.T) {
	base := NewCgroup("remove-empty-test-" + strconv.Itoa(os.Getpid())).Path
	if base == "" {
		need.Feature(t, "this user cannot create cgroups of version 2 here")
	}
	t.Cleanup(func() { syscall.Rmdir(base) }) // behind those of what is in it
	create := func(name string) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Rmdir(path) })
		return path
	}
	empty, busy, other := create("den-session-empty"), create("den-session-busy"), create("other")
	dir, err := os.Open(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe() // closing it ends cat
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	pty.InCgroup(cmd.SysProcAttr, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	check := func(before time.Time, want ...string) {
		t.Helper()
		if err := removeEmptyCgroups(base, before); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{empty, busy, other} {
			if _, err := os.Stat(path); (err == nil) != slices.Contains(want, path) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	check(time.Now().Add(-time.Hour), empty, busy, other)
	check(time.Now().Add(time.Hour), busy, other)
}
