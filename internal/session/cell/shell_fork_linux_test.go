package cell_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A shell that may not fork tries again for many seconds, and then gives up
// the file that it reads: marks must not need a fork. The system refuses one
// for want of memory or of process numbers too, when it is busy.
func TestMarksWithoutAFork(t *testing.T) {
	if os.Geteuid() == 0 { // the limit does not hold for root
		asNobody(t)
		return
	}
	for _, argv := range [][]string{{"bash", "--norc"}, {"dash"}, {"busybox", "ash"}, {"zsh", "-f"}} {
		t.Run(argv[0], func(t *testing.T) {
			programPath(t, argv[0])
			s := open(t, start{argv: argv, by: []string{"bash", "-c", `ulimit -u 1 && exec "$@"`, "bash"}})
			s.prompt(0, true)
		})
	}
}

// asNobody runs the test that calls it as an ordinary user.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "den-cell-") // not below t.TempDir, where others may not go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "cell.test")
	if err := copyProgram(binary, "/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run", "^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "DEN_TEST_REQUIRE=" + os.Getenv("DEN_TEST_REQUIRE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+"/bash") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

func copyProgram(to, from string) error {
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
