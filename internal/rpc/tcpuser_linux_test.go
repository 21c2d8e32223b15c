package rpc_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"den/internal/rpc"
)

// Who connects over TCP on this machine is known, on IPv4 and on IPv6.
func TestLoopbackUser(t *testing.T) {
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
		if uid, err := rpc.LoopbackUser(conn); err != nil || uid != os.Geteuid() {
			t.Errorf("%s: user %d, %v", address, uid, err)
		}
	}
}

// A process of another user is told apart.
func TestLoopbackUserOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	other := exec.Command("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+strconv.Itoa(port)+"; cat <&3")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if uid, err := rpc.LoopbackUser(conn); err != nil || uid != 65534 {
		t.Errorf("user %d, %v", uid, err)
	}
}
