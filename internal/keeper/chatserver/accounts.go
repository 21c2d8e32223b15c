package chatserver

import (
	"den/internal/base/fault"
	"den/internal/chat/irc/ircd"
)

// leastPassword is how long a password is at least.
const leastPassword = 8

// SetAccount makes an account of the keeper's own server, or changes its
// password.
func (c *Server) SetAccount(name, password string) error {
	if len(password) < leastPassword {
		return fault.Errorf(fault.Usage, "a password needs at least %d bytes: other machines may reach the server", leastPassword)
	}
	return c.changeAccounts(name, func(a *ircd.Accounts) error { return a.Set(name, password) })
}

func (c *Server) RemoveAccount(name string) error {
	return c.changeAccounts(name, func(a *ircd.Accounts) error { return a.Remove(name) })
}

// changeAccounts changes an account, and ends the connections that were made
// with it before.
func (c *Server) changeAccounts(name string, change func(*ircd.Accounts) error) error {
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

// Accounts lists the accounts.
func (c *Server) Accounts() ([]string, error) {
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
