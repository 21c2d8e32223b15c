package daemon

import (
	"context"
	"log"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/chatserver"
)

// setAccount answers a request for an account of the keeper's own chat server.
// Agents make none: an account may be the one that decides what they may do.
func (h *handler) setAccount(ctx context.Context, call *rpc.Call) (any, error) {
	return h.changeAccount(ctx, call, "set", func(a keeper.Account) error {
		for _, m := range h.d.minds() {
			if strings.EqualFold(chatserver.NickOf(m.Name()), a.Name) {
				return fault.Hintf(fault.Errorf(fault.Usage, "'%s' is the nick of an agent", a.Name), "an account has its name for itself: choose another")
			}
		}
		return h.d.chat.SetAccount(a.Name, a.Password)
	})
}

func (h *handler) removeAccount(ctx context.Context, call *rpc.Call) (any, error) {
	return h.changeAccount(ctx, call, "removed", func(a keeper.Account) error { return h.d.chat.RemoveAccount(a.Name) })
}

func (h *handler) changeAccount(ctx context.Context, call *rpc.Call, what string, change func(keeper.Account) error) (any, error) {
	var a keeper.Account
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
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
