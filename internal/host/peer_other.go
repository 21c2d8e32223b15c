//go:build !linux

package host

import (
	"fmt"
	"net"
	"os"

	"den/internal/fault"

	"golang.org/x/sys/unix"
)

// checkPeer lets in this user and root.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	var cred *unix.Xucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	if cerr != nil {
		return fmt.Errorf("check client: %w", cerr)
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fault.Errorf(fault.Denied, "user %d may not use a session of user %d", cred.Uid, os.Geteuid())
	}
	return nil
}
