package rpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// socketMode lets only the owner connect.
const socketMode = 0o600

// Listen opens a Unix socket that is closed to other users before anybody can
// connect. The caller holds the lock of what the socket serves, so a socket
// that is there was left by a process that was killed.
func Listen(path string) (*net.UnixListener, error) {
	if err := RemoveSocket(path); err != nil {
		return nil, err
	}
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

// RemoveSocket removes a socket that nobody listens on any more. Anything else
// at the path stays: a socket's path may come from a file, and must not decide
// what is removed.
func RemoveSocket(path string) error {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && fi.Mode().Type() != fs.ModeSocket:
		return nil
	case err == nil:
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.KindOf(err), "remove socket: %w", err)
	}
	return nil
}
