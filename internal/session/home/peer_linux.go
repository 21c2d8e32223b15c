package home

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerPID returns the PID of the process at the other end, as seen from here.
func peerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("ask who calls: %w", err)
	}
	var cred *unix.Ucred
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = cerr
	}
	if err != nil {
		return 0, fmt.Errorf("ask who calls: %w", err)
	}
	return int(cred.Pid), nil
}
