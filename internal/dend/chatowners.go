package dend

import (
	"context"
	"net"
	"runtime"

	"den/internal/fault"
	"den/internal/rpc"
	"den/internal/workspace"
)

// ownersByNick returns the nicks that are enough to decide for an agent of the
// workspace.
func ownersByNick(ws *workspace.Workspace) []string {
	var nicks []string
	for i := range ws.Agents {
		if c := ws.Agents[i].Channel; c.Owner != "" && c.OwnerByNick {
			nicks = append(nicks, c.Owner)
		}
	}
	return nicks
}

// notAnAgents refuses a connection of an agent's process to the server's socket:
// with the nick of its owner it could decide what it may do, and with that of
// any person read what is private.
func (d *daemon) notAnAgents(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return fault.Errorf(fault.Denied, "whose connection it is, is not known")
	}
	pid, err := rpc.PeerProcess(unix)
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "whose connection it is, is not known: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), harnessLimit)
	defer cancel()
	return d.notOfAgents(ctx, []int{pid})
}
