//go:build linux

package pty_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"

	"den/internal/process/pty"
)

// A program may forbid others to look at it; a setuid program does.
func TestProbeUndumpable(t *testing.T) {
	x := startPython(t, `
import ctypes, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("go")
sys.stdin.readline()`)
	want := pty.Unknown
	if os.Geteuid() == 0 {
		want = pty.Ready // Root may look at everybody.
	}
	r := x.untilState(want)
	t.Log(r.Why)
	if want == pty.Unknown && !strings.Contains(r.Why, "may not be looked at") {
		t.Errorf("Why = %q", r.Why)
	}
}

// Hosts do not run as root: the same programs must be seen by an ordinary user.
func TestProbeUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Apart(t, "this user is ordinary enough")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "den-pty-") // Not below t.TempDir, where others may not go.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "pty.test")
	if err := copyFile(binary, "/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run", "^(TestProbePrograms|TestProbeUndumpable)$/^(bash|cat|python3|less|)$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestProbeUndumpable") || !strings.Contains(string(out), "--- PASS: TestProbePrograms/bash") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
