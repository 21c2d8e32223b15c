package daemon

import (
	"context"
	"log"
	"net"
	"runtime"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/chatserver"
	"den/internal/place/workspace"
)

// setAccount makes an account of the keeper's own chat server, or changes it.
func (d *daemon) setAccount(a keeper.Account) error {
	for _, m := range d.harnessed() {
		if strings.EqualFold(chatserver.NickOf(m.Name()), a.Name) {
			return fault.Hintf(fault.Errorf(fault.Usage, "'%s' is the nick of an agent", a.Name), "an account has its name for itself: choose another")
		}
	}
	return d.chat.SetAccount(a.Name, a.Password)
}

// changeAccount answers a request for an account. Agents make none: it may be
// the one that decides what they may do.
func (h *handler) changeAccount(ctx context.Context, call *rpc.Call, a keeper.Account, what string, change func(keeper.Account) error) (any, error) {
	if err := h.d.notByAgent(ctx, call, nil); err != nil {
		return nil, err
	}
	if err := change(a); err != nil {
		return nil, err
	}
	log.Printf("the account '%s' of the chat server was %s", a.Name, what)
	return keeper.Account{Name: a.Name}, nil
}

func (h *handler) accounts() (any, error) {
	names, err := h.d.chat.Accounts()
	return keeper.Accounts{Accounts: names}, err
}

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

// decidingNick returns a nick that is enough to decide, "" where there is none:
// one that is the name of an account is for that account alone.
func (d *daemon) decidingNick(ws *workspace.Workspace) string {
	accounts, _ := d.chat.Accounts() // none where the server is not the keeper's
	for _, nick := range ownersByNick(ws) {
		if !slices.ContainsFunc(accounts, func(name string) bool { return strings.EqualFold(name, nick) }) {
			return nick
		}
	}
	return ""
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
