package rpc

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/testkit/need"

	"den/internal/base/fault"
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
	if err := errors.Join(CheckClient(theirs), CheckServer(conn.(*net.UnixConn))); err != nil {
		t.Error(err)
	}
	theirs.Close()
	if err := CheckClient(theirs); err == nil {
		t.Error("a closed connection is let in")
	}
}

// TestConnectAs is not a test: it is the other user, who connects and waits to
// be let go.
func TestConnectAs(t *testing.T) {
	path := os.Getenv("DEN_PEER_SOCKET")
	if path == "" {
		need.Apart(t, "this is a helper of the tests below")
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if want := os.Getenv("DEN_PEER_SERVER"); want != "" {
		if err := CheckServer(conn.(*net.UnixConn)); fmt.Sprint(err) != want {
			t.Errorf("check server: %v, want %s", err, want)
		}
	}
	conn.Read(make([]byte, 1)) // until the other side closes
}

// TestListenAs is not a test: it is another user, who listens and waits to be
// let go.
func TestListenAs(t *testing.T) {
	path := os.Getenv("DEN_PEER_LISTEN")
	if path == "" {
		need.Apart(t, "this is a helper of the tests below")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening")
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// as returns a helper test that runs as another user.
func as(t *testing.T, uid uint32, dir, test string, env ...string) *exec.Cmd {
	t.Helper()
	need.Root(t, "becoming another user")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "other") // where everybody may run it
	if err := os.WriteFile(binary, self, 0o755); err != nil && !errors.Is(err, syscall.ETXTBSY) {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^"+test+"$")
	cmd.Dir, cmd.Env = "/", env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

func TestClientOfOtherUserIsRefused(t *testing.T) {
	l, path := listen(t)
	// The server is root's, which every client trusts.
	cmd := as(t, 65534, filepath.Dir(path), "TestConnectAs", "DEN_PEER_SOCKET="+path, "DEN_PEER_SERVER=<nil>")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckClient(conn); fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "65534") {
		t.Errorf("another user: %v", err)
	}
	conn.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other user: %v", err)
	}
}

func TestServerOfOtherUserIsRefused(t *testing.T) {
	dir, err := os.MkdirTemp("", "den-p-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	server := as(t, 65534, dir, "TestListenAs", "DEN_PEER_LISTEN="+path)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("%q, %v", line, err)
	}
	client := as(t, 65533, dir, "TestConnectAs", "DEN_PEER_SOCKET="+path, "DEN_PEER_SERVER=the socket belongs to user 65534, not to user 65533")
	if said, err := client.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the other user: %v", err)
	}
}
