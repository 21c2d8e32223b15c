package host

import (
	"fmt"
	"net"
	"os"
	"time"

	"den/internal/base/rpc"
	"den/internal/process/pty"
	"den/internal/screen"
	"den/internal/screen/eventlog"
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

// status returns everything known about the running session.
func (h *Host) status() wire.Status {
	s := h.core.status()
	m := h.manifest()
	s.Session, s.ID, s.Status = m.Name, m.ID, string(m.Status)
	s.Command, s.Cwd, s.Term, s.Labels = m.Command, m.Cwd, m.Term, m.Labels
	s.PID, s.HostPID, s.HostVersion = m.PID, m.HostPID, h.version
	s.Upgrades = h.upgrades
	s.Created, s.RecordInput = m.Created, m.RecordInput
	if !s.LastOutputTime.IsZero() {
		s.LastOutput = &s.LastOutputTime
	}
	probe := h.tty.Probe()
	ready := readiness(probe)
	s.Ready = &ready
	if probe.PID > 0 { // the very process, where the kernel told
		s.Foreground = &wire.Process{PID: probe.PID, Command: probe.Command}
	} else if pgid, err := h.tty.ForegroundGroup(); err == nil && pgid > 0 {
		s.Foreground = &wire.Process{PID: pgid, Command: pty.CommandLine(pgid)}
	}
	s.Clients, s.Attached = h.server.Clients(), h.sizes.count()
	s.LastTyped = h.sizes.lastTyped()
	return s
}

func readiness(probe pty.Readiness) wire.Readiness {
	return wire.Readiness{State: string(probe.State), Why: probe.Why, Outside: probe.Outside}
}

func (c *core) status() wire.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	cols, rows := c.term.Size()
	modes := c.term.Modes()
	s := wire.Status{
		Cols: cols, Rows: rows,
		Title: c.term.Title(), AltScreen: modes.AltScreen,
		Seq:        c.log.Position().Seq,
		ScreenHash: screen.Hash(screen.Text(c.term)),
		Log:        logStatus(c.log.Stats()),
	}
	if c.OutputSeq > 0 {
		s.LastOutputTime = time.Now().Add(c.LastOutput - c.clock()).UTC()
	}
	return s
}

func logStatus(s eventlog.Stats) wire.LogStatus {
	return wire.LogStatus{
		Bytes: s.Bytes, Segments: s.Segments, FirstSeq: s.FirstSeq,
		DroppedSegments: s.DroppedSegments, DroppedBytes: s.DroppedBytes,
		Paused: s.Paused, LostEvents: s.LostEvents, LostBytes: s.LostBytes,
	}
}
