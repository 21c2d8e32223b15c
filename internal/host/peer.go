package host

import (
	"fmt"
	"net"
	"os"

	"den/internal/fault"
)

// checkPeer lets in this user and root.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	var uid int
	var uerr error
	if err := raw.Control(func(fd uintptr) { uid, uerr = peerUID(int(fd)) }); err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	if uerr != nil {
		return fmt.Errorf("check client: %w", uerr)
	}
	if uid != 0 && uid != os.Geteuid() {
		return fault.Errorf(fault.Denied, "user %d may not use a session of user %d", uid, os.Geteuid())
	}
	return nil
}
