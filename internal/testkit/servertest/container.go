package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"
)

// Container is a command line with which podman knows a container named box.
type Container struct {
	Argv, Env []string
	Dir       string // its storage, and the root directory
}

// StartContainer runs a container of busybox, in a storage of its own. It also has
// the programs of this machine that are named, with their libraries.
func StartContainer(t *testing.T, programs ...string) Container {
	t.Helper()
	for _, program := range append([]string{"podman", "conmon", "busybox"}, programs...) {
		need.Program(t, program)
	}
	if os.Getuid() != 0 {
		need.Missing(t, "podman with a storage of its own needs root here")
	}
	dir, err := os.MkdirTemp("/tmp", "den-box-") // short: podman says so
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endHelpers(dir)
		for exec.Command("umount", "--lazy", dir+"/root/overlay").Run() == nil { // each podman that came first has mounted it, with some drivers
		}
		os.RemoveAll(dir) // Best effort: a temporary directory.
	})
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
	c := Container{
		Argv: []string{"podman", "--root", dir + "/root", "--runroot", dir + "/run"},
		Env:  []string{"CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf")},
		Dir:  dir,
	}
	root := busyboxRoot(t, dir)
	for _, program := range programs {
		copyProgram(t, root, program)
	}
	t.Cleanup(func() { c.Run(t, "rm", "--force", "--time", "0", "box") })
	// It ends also where the test was killed: not before the longest of them is over.
	c.Run(t, "run", "-d", "--name", "box", "--network", "none", "--rootfs", root, "sleep", "14400")
	return c
}

// Run runs podman.
func (c Container) Run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(c.Argv[0], append(c.Argv[1:], args...)...)
	cmd.Env = append(os.Environ(), c.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("podman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// endHelpers ends the processes that podman has left for a storage. They would run
// podman once more, some of them minutes later, which makes the storage again.
func endHelpers(dir string) {
	for some := true; some; {
		some = false
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
		for _, path := range lines {
			line, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(line), dir+"/") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			some = err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil || some
		}
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
	copyFile(t, filepath.Join(root, "bin/busybox"), path)
	for _, name := range []string{"sh", "sleep", "echo", "printf", "false", "true", "stty", "cat", "od", "tr", "seq", "setsid"} {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// copyProgram copies a program, and its libraries to where it looks for them.
func copyProgram(t *testing.T, root, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(root, "bin", name), path)
	libraries, err := exec.Command("ldd", path).Output()
	if err != nil {
		t.Fatalf("ldd %s: %v", path, err)
	}
	for word := range strings.FieldsSeq(string(libraries)) {
		if filepath.IsAbs(word) {
			copyFile(t, filepath.Join(root, word), word)
		}
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}
