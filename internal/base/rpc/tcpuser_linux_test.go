package rpc_test

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// Who connects over TCP on this machine is known, on IPv4 and on IPv6.
func TestLoopbackFamilies(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			if address == "[::1]:0" {
				continue // no IPv6 here
			}
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if holders, err := rpc.LoopbackProcesses(conn); err != nil || !slices.Contains(holders, os.Getpid()) {
			t.Errorf("%s: %v, %v", address, holders, err)
		}
	}
}

// A process of another user is refused, also when it has closed its end: the
// kernel shows such a connection as root's.
func TestLoopbackOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Feature(t, "only root can start a process of another user")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	other := exec.Command("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+strconv.Itoa(port)+"; exec cat <&3")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if holders, err := rpc.LoopbackProcesses(conn); fault.KindOf(err) != fault.Denied {
		t.Errorf("%v, %v", holders, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Wait() // Best effort: it was killed.
	if holders, err := rpc.LoopbackProcesses(conn); fault.KindOf(err) != fault.NotFound {
		t.Errorf("closed: %v, %v", holders, err)
	}
}

// The process at the other end is known, also where two share the connection,
// and nobody is found once it has ended.
func TestLoopbackProcesses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	// The shell and cat both hold the connection.
	other := exec.Command("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port+"; cat <&3 >/dev/null; exit 0")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var holders []int
	for len(holders) < 2 { // until cat runs
		if holders, err = rpc.LoopbackProcesses(conn); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(holders, other.Process.Pid) || len(holders) != 2 {
		t.Errorf("holders %v, started %d", holders, other.Process.Pid)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { // cat ends, and bash
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	if holders, err := rpc.LoopbackProcesses(conn); fault.KindOf(err) != fault.NotFound {
		t.Errorf("holders %v of a connection whose process has ended: %v", holders, err)
	}
}
