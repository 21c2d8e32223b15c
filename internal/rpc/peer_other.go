//go:build !linux

package rpc

import "golang.org/x/sys/unix"

func peerUID(socket int) (int, error) {
	cred, err := unix.GetsockoptXucred(socket, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
