package rpc

import (
	"net"

	"den/internal/fault"

	"golang.org/x/sys/unix"
)

// PeerProcess returns the number of the process at the other end.
func PeerProcess(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var pid int
	var perr error
	if err := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, perr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); perr == nil {
			pid = int(cred.Pid)
		}
	}); err != nil {
		return 0, err
	}
	if perr == nil && pid == 0 {
		perr = fault.Errorf(fault.Unsupported, "the other end is in a container: its process has no number here")
	}
	return pid, perr
}

func peerUID(socket int) (int, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
