package host

import (
	"fmt"
	"net"
	"os"
	"time"

	"den/internal/base/rpc"
	"den/internal/session/wire"
)

// server serves the session's socket. The listener survives an upgrade.
type server struct {
	*rpc.Server
	listener *net.UnixListener
}

// newServer serves the session on the listener.
func (h *Host) newServer(l *net.UnixListener) *server {
	return &server{listener: l, Server: rpc.NewServer(rpc.Config{
		Version: wire.Version, Den: h.version, ID: h.dir.ID,
		Kind: "host", Name: fmt.Sprintf("session '%s'", h.manifest().Name),
		Handler: h.handle,
		Urgent:  func(method string) bool { return method == wire.MethodKill },
	})}
}

// inheritListener returns the listener of the previous binary.
func inheritListener(fd int) (*net.UnixListener, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close() // Best effort: FileListener works on a copy.
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over socket: %w", err)
	}
	unixListener, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("take over socket: it is a %T", l)
	}
	unixListener.SetUnlinkOnClose(true)
	return unixListener, nil
}

// stopServing disconnects the clients. The socket file stays if another binary
// takes over.
func (h *Host) stopServing() {
	if h.isUpgrading() {
		h.server.listener.SetDeadline(time.Now()) // Best effort: exec closes it at the latest.
		return
	}
	h.server.listener.Close() // Best effort; it also removes the file.
}
