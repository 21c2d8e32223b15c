//go:build !linux

package rpc

import (
	"net"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// PeerProcess needs Linux; elsewhere it is fault.Unsupported.
func PeerProcess(*net.UnixConn) (int, error) {
	return 0, fault.Errorf(fault.Unsupported, "this system does not tell which process is at the other end")
}

func peerUID(socket int) (int, error) {
	cred, err := unix.GetsockoptXucred(socket, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
