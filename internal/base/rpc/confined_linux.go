package rpc

import (
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// PeerConfined reports whether the process at the other end is in a sandbox with
// files of its own: it can get no new privileges and has another mount namespace
// than this process. It can undo neither. One that is gone could have been
// anybody, and counts as confined. Before Linux 6.5 another process may have got
// its number meanwhile: see KnowsPeers.
func PeerConfined(conn *net.UnixConn) bool {
	pid, err := PeerProcess(conn)
	if err != nil {
		return true
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return true
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || !peerLives(conn) {
		return true
	}
	mine, err := os.Readlink("/proc/self/ns/mnt")
	return err != nil || theirs != mine && strings.Contains(string(status), "\nNoNewPrivs:\t1\n")
}

// peerLives reports whether the process that connected is still there, so that
// its number is its own. Where the kernel cannot tell, it is taken for alive.
func peerLives(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	lives := false
	err = raw.Control(func(fd uintptr) {
		process, perr := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		if perr != nil {
			lives = perr == unix.ENOPROTOOPT
			return
		}
		defer unix.Close(process)
		lives = unix.PidfdSendSignal(process, 0, nil, 0) == nil
	})
	return err == nil && lives
}

// KnowsPeers reports whether the kernel tells which process connected, and not
// only its number.
func KnowsPeers() bool {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	process, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err != nil {
		return false
	}
	unix.Close(process)
	return true
}
