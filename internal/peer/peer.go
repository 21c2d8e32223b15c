// Package peer checks who is at the other end of a local socket.
package peer

import (
	"fmt"
	"net"
	"os"

	"den/internal/fault"
)

// Check lets in this user and root.
func Check(conn *net.UnixConn) error {
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
		return fault.Errorf(fault.Denied, "user %d may not use what belongs to user %d", uid, os.Geteuid())
	}
	return nil
}
