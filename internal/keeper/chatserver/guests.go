package chatserver

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"log"
	"net"
	"os"
	"path"
	"path/filepath"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/chat/irc/ircd"
)

// guests are who the keeper's own server knows.
type guests struct {
	agents map[string]string    // secrets by nick
	owners []string             // nicks that are enough to decide
	person func(net.Conn) error // refuses connections of agents' processes
}

// admit tells the server which agents come back when they are away, what each is
// known by, and which nicks are for people alone. Nobody is let in before: a
// person who is not known as one would not get what was said to them.
func (c *Server) Admit(agents []string, owners []string, person func(net.Conn) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return
	}
	g := guests{agents: map[string]string{}, owners: owners, person: person}
	for _, name := range agents {
		nick := NickOf(name)
		secret, err := c.Secret(nick)
		if err != nil {
			log.Printf("agent '%s' cannot have its nick in channels: %v", name, err)
		}
		g.agents[nick] = secret
		if c.accounts.Has(nick) {
			log.Printf("warning: agent '%s' cannot have its nick in channels: it is the name of an account ('den accounts remove %s')", name, nick)
		}
	}
	c.guests = &g
	c.admitLocked()
}

// admitLocked lets in whom the server knows, also after it was started anew.
func (c *Server) admitLocked() {
	if c.guests == nil {
		return
	}
	c.server.SetResidents(c.guests.agents)
	c.server.Reserve(c.guests.owners, c.guests.person)
	if c.serve != nil {
		c.serve()
		c.serve = nil
	}
}

// secretFile is where the secret of an agent is, by which the server knows its
// harness.
func (c *Server) secretFile(nick string) string { return filepath.Join(c.dir, "agents", nick) }

// secret returns that of an agent, and makes it for the first start.
func (c *Server) Secret(nick string) (string, error) {
	file := c.secretFile(nick)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(rand.Text())
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = atomicfile.Write(file, data)
		}
	}
	if err != nil {
		return "", fault.Errorf(fault.Storage, "keep the secret of an agent's nick: %w", err)
	}
	return string(data), nil
}

// NickOf is the name of an agent in channels: the last part of its name.
func NickOf(agent string) string { return path.Base(agent) }

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
