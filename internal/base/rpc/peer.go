package rpc

import (
	"fmt"
	"net"
	"os"

	"den/internal/base/fault"
)

// CheckClient lets in this user and root.
func CheckClient(conn *net.UnixConn) error {
	uid, err := userOf(conn)
	if err != nil {
		return fmt.Errorf("check client: %w", err)
	}
	if uid != 0 && uid != os.Geteuid() {
		return fault.Errorf(fault.Denied, "user %d may not use what belongs to user %d", uid, os.Geteuid())
	}
	return nil
}

// CheckServer refuses a server of another user: it could read what is sent to
// it. Root may use the servers of everybody.
func CheckServer(conn *net.UnixConn) error {
	uid, err := userOf(conn)
	if err != nil {
		return fmt.Errorf("check server: %w", err)
	}
	if me := os.Geteuid(); me != 0 && uid != 0 && uid != me {
		return fault.Errorf(fault.Denied, "the socket belongs to user %d, not to user %d", uid, me)
	}
	return nil
}

// userOf returns the user of the process at the other end.
func userOf(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var uid int
	var uerr error
	if err := raw.Control(func(fd uintptr) { uid, uerr = peerUID(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, uerr
}
