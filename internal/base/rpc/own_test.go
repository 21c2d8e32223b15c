package rpc_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// heirEnv makes TestLeaveConnection connect to a socket.
const heirEnv = "DEN_TEST_HEIR"

// TestLeaveConnection is not a test: it connects, gives the connection to
// another process, and ends.
func TestLeaveConnection(t *testing.T) {
	path := os.Getenv(heirEnv)
	if path == "" {
		need.Apart(t, "this is a helper of the test below")
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	heir := exec.Command("cat")
	heir.Stdin = raw
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // not waited for
}

// The process that connected is known while it runs. When it has ended, also as
// one that nobody has waited for, whoever has the connection from it is nobody.
func TestPeerThatEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Apart(t, "only Linux tells")
	}
	l, err := rpc.ListenOwn(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLeaveConnection$")
	cmd.Env = append(os.Environ(), heirEnv+"="+l.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()               // its heir ends
	for state := ""; state != "Z"; { // ended, and not waited for
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		state = rest[:1]
	}
	for _, when := range []string{"not waited for", "gone"} {
		if pid, err := rpc.PeerProcess(conn.(*net.UnixConn)); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: process %d, %v", when, pid, err)
		}
		cmd.Wait() // Best effort: the second time it is done.
	}
}

// A socket of this user is closed to others by its file, is made anew when that
// was removed, and leaves nothing behind.
func TestOwnListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "s")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := rpc.ListenOwn(path)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 10)
	ended := make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	for range 2 {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		theirs := <-accepted
		if pid, err := rpc.PeerProcess(theirs.(*net.UnixConn)); runtime.GOOS == "linux" && (err != nil || pid != os.Getpid()) {
			t.Errorf("process %d, %v", pid, err)
		}
		conn.Close()
		theirs.Close()
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if err := l.Relisten(); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	if err := <-ended; err == nil {
		t.Error("it accepts after its end")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}
