package subprocess_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/testkit/need"
)

// escaping starts processes that leave by all ways there are but one: a stray
// mark of a host, an empty environment, a terminal session and a parent of
// their own. It leaves their numbers in files.
const escaping = `DEN_HOST=x sleep 1077 & echo $! > marked; disown
(env -i PATH="$PATH" setsid sh -c 'echo $$ > bare; exec sleep 1078' &)
(DEN_HOST=x env -i PATH="$PATH" DEN_HOST=y setsid sh -c '(setsid sh -c "echo \$\$ > both; exec sleep 1079" &)' &)
echo up; exec sleep 1080`

func mayMakeCgroups(t *testing.T) {
	t.Helper()
	c := tree.NewCgroup("subprocess-test-" + strconv.Itoa(os.Getpid()))
	if c.Path == "" {
		need.Feature(t, "this user cannot create cgroups of version 2 here")
	}
	c.Remove()
}

// inCgroup starts a session with processes that escape, and returns its record
// and their numbers.
func inCgroup(b *bench) (*shim.Record, []int) {
	b.Helper()
	mayMakeCgroups(b.T)
	b.start("w", "bash", "-c", escaping)
	b.shows("w", "up")
	pids := []int{b.pidIn("marked"), b.pidIn("bare"), b.pidIn("both")}
	r := b.record("w")
	if r.Cgroup == "" {
		b.Fatal("the record names no cgroup")
	}
	inside, err := os.ReadFile(filepath.Join(r.Cgroup, "cgroup.procs"))
	if b.ok(err); len(strings.Fields(string(inside))) < 4 {
		b.Fatalf("in the cgroup are %q", inside)
	}
	return r, pids
}

// allGone fails unless the processes have ended and the cgroup is removed.
func (b *bench) allGone(r *shim.Record, pids []int) {
	b.Helper()
	for _, pid := range pids {
		if line := pty.CommandLine(pid); strings.Contains(line, "sleep 10") {
			b.Errorf("process %d (%s) is left", pid, line)
		}
	}
	if _, err := os.Stat(r.Cgroup); !errors.Is(err, fs.ErrNotExist) {
		b.Errorf("the cgroup is left: %v", err)
	}
}

func TestStopEndsWhatEscapes(t *testing.T) {
	b := newBench(t)
	r, pids := inCgroup(b)
	b.ok(b.Stop(t.Context(), "w"))
	b.allGone(r, pids)
}

// What a killed shim left is found by its cgroup.
func TestStopSweepsTheCgroupOfAKilledShim(t *testing.T) {
	b := newBench(t)
	r, pids := inCgroup(b)
	b.ok(syscall.Kill(b.shimPID("w"), syscall.SIGKILL))
	b.ends("w")
	b.ok(b.Stop(t.Context(), "w"))
	b.allGone(r, pids)
}

// Neither a start that fails nor a command that ends by itself leaves a cgroup.
func TestNoCgroupIsLeft(t *testing.T) {
	b := newBench(t)
	mayMakeCgroups(t)
	b.shell("w", "read x")
	r := b.record("w")
	b.ok(b.Nudge(t.Context(), "w", "go"))
	b.ends("w")
	b.ok(b.Stop(t.Context(), "w")) // returns when the shim is through
	b.allGone(r, nil)

	outer := filepath.Join(filepath.Dir(r.Cgroup), "subprocess-test-"+strconv.Itoa(os.Getpid()))
	b.ok(os.Mkdir(outer, 0o755))
	defer os.Remove(outer) // Best effort: it is checked below.
	dir, err := os.Open(outer)
	b.ok(err)
	defer dir.Close()
	failing := exec.Command(os.Args[0], "start-and-exit", b.options.Dir, "x", "/no/such")
	failing.SysProcAttr = &syscall.SysProcAttr{}
	pty.InCgroup(failing.SysProcAttr, dir)
	if out, err := failing.CombinedOutput(); err == nil || !strings.Contains(string(out), "/no/such") {
		t.Fatalf("what cannot be run was started: %s, %v", out, err)
	}
	if left, err := filepath.Glob(outer + "/den-session-*"); err != nil || len(left) > 0 {
		t.Errorf("cgroups %v are left, %v", left, err)
	}
}
