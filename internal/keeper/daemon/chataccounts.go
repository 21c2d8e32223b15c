package daemon

import (
	"context"
	"log"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/chat/irc/ircd"
	"den/internal/keeper"
)

// setAccount answers a request for an account of the keeper's own chat server.
// Agents make none: an account may be the one that decides what they may do.
func (h *handler) setAccount(ctx context.Context, call *rpc.Call) (any, error) {
	return h.changeAccount(ctx, call, "set", func(a keeper.Account) error {
		for _, m := range h.d.minds() {
			if strings.EqualFold(nickOf(m.Name()), a.Name) {
				return fault.Hintf(fault.Errorf(fault.Usage, "'%s' is the nick of an agent", a.Name), "an account has its name for itself: choose another")
			}
		}
		return h.d.chat.setAccount(a.Name, a.Password)
	})
}

func (h *handler) removeAccount(ctx context.Context, call *rpc.Call) (any, error) {
	return h.changeAccount(ctx, call, "removed", func(a keeper.Account) error { return h.d.chat.removeAccount(a.Name) })
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
	names, err := h.d.chat.accountNames()
	return keeper.Accounts{Accounts: names}, err
}

// leastPassword is how long a password is at least.
const leastPassword = 8

// setAccount makes an account of the keeper's own server, or changes its
// password.
func (c *chatServer) setAccount(name, password string) error {
	if len(password) < leastPassword {
		return fault.Errorf(fault.Usage, "a password needs at least %d bytes: other machines may reach the server", leastPassword)
	}
	return c.changeAccounts(name, func(a *ircd.Accounts) error { return a.Set(name, password) })
}

func (c *chatServer) removeAccount(name string) error {
	return c.changeAccounts(name, func(a *ircd.Accounts) error { return a.Remove(name) })
}

// changeAccounts changes an account, and ends the connections that were made
// with it before.
func (c *chatServer) changeAccounts(name string, change func(*ircd.Accounts) error) error {
	c.mu.Lock()
	server, accounts := c.server, c.accounts
	c.mu.Unlock()
	if server == nil {
		return errNoOwnServer()
	}
	if err := change(accounts); err != nil {
		return err
	}
	server.EndLogins(name)
	return nil
}

// accountNames lists the accounts.
func (c *chatServer) accountNames() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil, errNoOwnServer()
	}
	return c.accounts.Names(), nil
}

func errNoOwnServer() error {
	return fault.Hintf(fault.Errorf(fault.NotRunning, "this keeper runs no server for channels"), "give an agent 'channels'; accounts of another server are made there")
}
