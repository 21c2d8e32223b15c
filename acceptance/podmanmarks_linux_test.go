package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

// TestMarksInAContainer brings marks into the shell that 'podman exec -it'
// starts. It takes long on a small machine: make test-podman.
func TestMarksInAContainer(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	podman := startContainer(t)
	argv := append(podman.argv, "exec", "-it", "box", "sh")
	w := newWorld(t)
	w.env = append(w.env, podman.env...)
	w.do(append([]string{"new", "p", "--"}, argv...)...)
	w.do("wait", "p", "--regex", `[$#] $`, "-t", "60s")
	w.unmarked("p")
	w.marked("p", "2")
	w.do("new", "outer", "bash", "--norc")
	w.do("fire", "outer", quoted(argv))
	w.do("wait", "outer", "--regex", `/ # $`, "-t", "60s")
	w.do("release", "outer")
	w.marked("outer", "2")
	if r := w.ask("run", "outer", "for i in 1 2\ndo echo $i\ndone", "-t", "60s"); r["output"] != "1\n2" {
		t.Errorf("code of several lines: %v", r)
	}
}

// container is a command line with which podman knows a container named box.
type container struct {
	argv, env []string
	dir       string // its storage, and the root directory
}

// startContainer runs a container of busybox, in a storage of its own.
func startContainer(t *testing.T) container {
	t.Helper()
	for _, program := range []string{"podman", "conmon", "busybox"} {
		need.Program(t, program)
	}
	if os.Getuid() != 0 {
		need.Missing(t, "podman with a storage of its own needs root here")
	}
	dir := t.TempDir()
	// Limits that are ours already, and a runtime for any layout of cgroups:
	// then podman also works in a sandbox.
	conf := fmt.Sprintf("[containers]\ndefault_ulimits = [%q, %q]\n[network]\nnetwork_backend = \"netavark\"\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n",
		limitOf(t, "nofile", syscall.RLIMIT_NOFILE), limitOf(t, "nproc", rlimitProcesses))
	if _, err := exec.LookPath("runc"); err == nil {
		conf += "runtime = \"runc\"\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "containers.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	c := container{
		argv: []string{"podman", "--root", dir + "/root", "--runroot", dir + "/run"},
		env:  []string{"CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf")},
		dir:  dir,
	}
	t.Cleanup(func() {
		c.run(t, "rm", "--force", "--time", "0", "box")
		for syscall.Unmount(dir+"/root/overlay", syscall.MNT_DETACH) == nil { // each podman that came first has mounted it, with some drivers
		}
	})
	c.run(t, "run", "-d", "--name", "box", "--network", "none", "--rootfs", busyboxRoot(t, dir), "sleep", "600")
	return c
}

func (c container) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(c.argv[0], append(c.argv[1:], args...)...)
	cmd.Env = append(os.Environ(), c.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("podman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// rlimitProcesses is RLIMIT_NPROC, which package syscall does not name.
const rlimitProcesses = 6

func limitOf(t *testing.T, name string, resource int) string {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s=%d:%d", name, min(l.Cur, 1<<14), min(l.Max, 1<<14))
}

// busyboxRoot makes a root directory of a static busybox.
func busyboxRoot(t *testing.T, dir string) string {
	t.Helper()
	root := filepath.Join(dir, "rootfs")
	for _, d := range []string{"bin", "tmp", "proc", "sys", "dev", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin/busybox"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "sleep", "echo", "printf", "false", "true", "stty", "cat", "od", "tr", "setsid"} {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
