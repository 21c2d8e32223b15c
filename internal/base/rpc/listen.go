package rpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

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

// socket is the listener of a Server and the file that it is bound to.
type socket struct {
	mu       sync.Mutex        // guards the fields below
	listener *net.UnixListener // or nil: the server does not accept clients
	file     os.FileInfo       // or nil: the listener has no file
}

func (k *socket) open(l *net.UnixListener) {
	file, _ := os.Lstat(l.Addr().String()) // Best effort: nil means that it is never replaced.
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listener, k.file = l, file
}

// close closes the current listener. It is not replaced any more.
func (k *socket) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listener == nil {
		return
	}
	if file, err := os.Lstat(k.listener.Addr().String()); err == nil && k.file != nil && !os.SameFile(file, k.file) {
		k.listener.SetUnlinkOnClose(false) // the file at the path is not ours
	}
	k.listener.Close() // Best effort; it also removes the file.
	k.file = nil
}

// current returns the listener, or nil if it was closed for good.
func (k *socket) current() *net.UnixListener {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listener
}

// next returns the listener that replaced l, or nil if l was closed for good.
func (k *socket) next(l *net.UnixListener) *net.UnixListener {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listener == l {
		k.listener, k.file = nil, nil
	}
	return k.listener
}

// Relisten opens the server's socket again if its file was removed, and with its
// directory: without the file no client can connect.
func (s *Server) Relisten() error { return s.socket.relisten() }

// relisten opens the socket again if its file was removed, for example with its
// directory: without the file no client can connect. Connected clients are not
// affected. If another file is at the path now, it is left alone and relisten
// returns an error. The caller holds the lock of what the socket serves, so no
// other process is about to listen there.
func (k *socket) relisten() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	path := k.listener.Addr().String()
	file, err := os.Lstat(path)
	switch {
	case err == nil && os.SameFile(file, k.file):
		return nil
	case err == nil:
		return fault.Errorf(fault.Busy, "listen again: another file is at %s", path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("listen again: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	l, err := Listen(path)
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	if file, err = os.Lstat(path); err != nil {
		l.Close() // Best effort: it was removed once more, and the next call tries again.
		return fmt.Errorf("listen again: %w", err)
	}
	old := k.listener
	k.listener, k.file = l, file
	old.SetUnlinkOnClose(false) // the path is the new listener's
	old.Close()                 // Best effort: it only ends its accept.
	return nil
}

// relistenEvery is how often KeepReachable looks: a clean-up of the run directory
// may have removed the file.
const relistenEvery = 5 * time.Second

// KeepReachable calls Relisten from time to time until the context ends, and logs
// why that fails.
func KeepReachable(ctx context.Context, s interface{ Relisten() error }) {
	tick := time.NewTicker(relistenEvery)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		problem := ""
		if err := s.Relisten(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != told { // once, not at every tick
			log.Print(problem)
		}
		told = problem
	}
}
