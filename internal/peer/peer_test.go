package peer_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/fault"
	"den/internal/peer"
)

// listen returns a socket that everybody can reach.
func listen(t *testing.T) (*net.UnixListener, string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "den-p-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for path, mode := range map[string]os.FileMode{dir: 0o755, path: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return l, path
}

func TestOwnUserIsLetIn(t *testing.T) {
	l, path := listen(t)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	theirs, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := peer.Check(theirs); err != nil {
		t.Error(err)
	}
	theirs.Close()
	if err := peer.Check(theirs); err == nil {
		t.Error("a closed connection is let in")
	}
}

// TestConnectAs is not a test: it is the other user, who connects and waits to
// be let go.
func TestConnectAs(t *testing.T) {
	path := os.Getenv("DEN_PEER_SOCKET")
	if path == "" {
		t.Skip("this is a helper of the test below")
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Read(make([]byte, 1)) // until the other side closes
}

func TestOtherUserIsNot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root: run the tests as root to see this one")
	}
	l, path := listen(t)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(filepath.Dir(path), "other") // where everybody may run it
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestConnectAs$")
	cmd.Dir, cmd.Env = "/", []string{"DEN_PEER_SOCKET=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.Check(conn); fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "65534") {
		t.Errorf("another user: %v", err)
	}
	conn.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other user: %v", err)
	}
}
