package rpc

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketMode lets only the owner connect.
const socketMode = 0o600

// Listen opens a Unix socket that is closed to other users before anybody can
// connect. The caller holds the lock of what the socket serves, so a socket
// that is there was left by a process that was killed.
func Listen(path string) (*net.UnixListener, error) {
	os.Remove(path) // Best effort: listening says what is wrong.
	l, err := (&net.ListenConfig{Control: closeToOthers}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// Where the mode cannot be set earlier. A client that is faster is checked
	// all the same.
	if err := os.Chmod(path, socketMode); err != nil {
		l.Close() // Best effort: nobody was served.
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l.(*net.UnixListener), nil
}

// closeToOthers sets the mode of a socket that has no name yet: Linux gives it
// to the file that binding makes.
func closeToOthers(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		_ = unix.Fchmod(int(fd), socketMode) // Best effort: other systems refuse, and Listen changes the file.
	})
}
