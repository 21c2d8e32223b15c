// Package chatserver runs the keeper's own server for channels, keeps its
// accounts, and tells harnesses its address.
package chatserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"

	"den/internal/agent/harness"
	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/base/statefile"
	"den/internal/chat/irc/ircd"
	"den/internal/place/workspace"
)

// Place is where a workspace's channels are, as it is kept for the next
// keeper: agents that run go on with the same address.
type Place struct {
	V       int    `json:"v"`
	Address string `json:"address"`
	Own     bool   `json:"own"` // the keeper's server
	// Socket is where programs of this user reach a server of theirs without a
	// login, "" where it is not known.
	Socket string `json:"socket,omitempty"`
	// Listen is where the keeper's server takes clients of other machines, ""
	// where it takes none.
	Listen string `json:"listen,omitempty"`
}

const version = 1

// Server is the keeper's own server for channels. By a Unix socket it lets in
// this user and root, whom the kernel knows: that is where agents and people of
// this machine connect. At a port on the loopback address, which every user of
// the machine reaches, clients log in with an account. So do those of other
// machines, by TLS, where the workspace lets them in.
type Server struct {
	dir    string // its history, its accounts, and where it listens
	getenv func(string) string

	mu       sync.Mutex // guards the fields below
	guests   *guests    // or nil: nobody is let in yet
	place    Place
	settings workspace.Server   // by which it was started
	server   *ircd.Server       // nil while it does not run
	accounts *ircd.Accounts     // likewise
	stop     context.CancelFunc // likewise
	serve    func()             // begins to let clients in; nil when it has
	serving  sync.WaitGroup
}

// New makes the server of a state directory. It starts nothing.
func New(dir string, getenv func(string) string) *Server {
	return &Server{dir: dir, getenv: getenv}
}

func (c *Server) file() string         { return filepath.Join(c.dir, "server.json") }
func (c *Server) accountsFile() string { return filepath.Join(c.dir, "accounts.json") }

// Needed reports whether an agent of the workspace is in channels.
func Needed(ws *workspace.Workspace) bool {
	for i := range ws.Agents {
		if ws.Agents[i].ByProtocol() && len(ws.Agents[i].Channel.Channels) > 0 {
			return true
		}
	}
	return false
}

// Ensure makes sure that the workspace's channels have a place: the server that
// its file names, or one of the keeper's own. If the file says something else
// than before, the keeper's own is started anew, as it was if that fails.
func (c *Server) Ensure(ws *workspace.Workspace) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !Needed(ws) || c.stop != nil && c.settings == ws.Server {
		return nil
	}
	if c.stop == nil {
		return c.startLocked(ws.Server)
	}
	before := c.settings
	c.stopLocked()
	err := c.startLocked(ws.Server)
	if err == nil {
		return nil
	}
	return errors.Join(err, c.startLocked(before))
}

// State is what a server can go back to.
type State struct {
	Place    Place
	Settings workspace.Server // by which it was started
	Runs     bool             // the keeper's own
}

// Now is what GoBack can go back to.
func (c *Server) Now() (State, error) {
	place, err := c.Where() // also that of the keeper before
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Place: place, Settings: c.settings, Runs: c.stop != nil}, err
}

// GoBack makes the channels be where they were before a workspace that was
// refused.
func (c *Server) GoBack(to State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to.Runs && c.stop != nil && c.settings == to.Settings {
		return nil
	}
	c.stopLocked()
	c.place, c.settings = to.Place, to.Settings
	switch {
	case to.Runs:
		return c.startLocked(to.Settings)
	case to.Place.Address == "":
		os.Remove(c.file()) // Best effort: nobody looks for channels.
		return nil
	}
	return c.saveLocked()
}

// startLocked notes where the channels are, and starts the keeper's own server
// if they are there.
func (c *Server) startLocked(s workspace.Server) error {
	if s.IsElsewhere() {
		return c.useOtherLocked(Place{Address: address(s)})
	}
	last, err := c.load()
	if err != nil {
		return err
	}
	open, err := c.listen(s, last)
	if errors.Is(err, errTaken) {
		return c.useOtherLocked(c.neighbour(address(s))) // a server is there already
	}
	if err != nil {
		return err
	}
	if err := c.serveLocked(s, open); err != nil {
		return errors.Join(err, open.close())
	}
	return nil
}

// useOtherLocked notes that the channels are on a server that is not the
// keeper's.
func (c *Server) useOtherLocked(p Place) error {
	p.V = version
	c.place = p
	return c.saveLocked()
}

// serveLocked begins to serve, if it is known whom. If it fails, the listeners
// are still open.
func (c *Server) serveLocked(s workspace.Server, open listeners) error {
	accounts, err := ircd.OpenAccounts(c.accountsFile())
	if err != nil {
		return err
	}
	server, err := ircd.New(ircd.Config{
		Dir: filepath.Join(c.dir, "history"), Network: network(s), OpenTopics: true, Accounts: accounts,
		LoginHint: "'den accounts set NAME' makes an account; this user needs none at " + open.here.Addr().String(),
	})
	if err != nil {
		return err
	}
	c.place = open.place()
	if err := c.saveLocked(); err != nil {
		return errors.Join(err, server.Close())
	}
	if s.Listen != "" && len(accounts.Names()) == 0 {
		log.Printf("nobody can log in at %s yet: 'den accounts set NAME' makes an account", c.place.Listen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.settings, c.server, c.accounts, c.stop = s, server, accounts, cancel
	c.serve = func() {
		c.serving.Go(func() { rpc.KeepReachable(ctx, open.here) })
		c.serving.Go(func() {
			if err := server.Serve(ctx, open.all()...); err != nil {
				log.Printf("the server for channels ended: %v", err)
			}
		})
	}
	c.admitLocked()
	return nil
}

func network(s workspace.Server) string {
	return cmp.Or(s.Name, "den")
}

func (c *Server) saveLocked() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fault.Errorf(fault.Storage, "keep the server's address: %w", err)
	}
	if err := statefile.Replace(c.file(), version, c.place); err != nil {
		return fault.Errorf(fault.Storage, "keep the server's address: %w", err)
	}
	return nil
}

func (c *Server) load() (Place, error) {
	p, _, err := statefile.Load[Place](c.file(), version, statefile.Large)
	if err != nil {
		return p, fmt.Errorf("read the server's address: %w", err)
	}
	return p, nil
}

// Where returns the place of the channels, also to a process that is not the
// keeper.
func (c *Server) Where() (Place, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.place.Address != "" {
		return c.place, nil
	}
	return c.load()
}

// Close ends the server and waits for it.
func (c *Server) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopLocked()
}

// stopLocked is close. The server's own goroutines do not take the lock.
func (c *Server) stopLocked() {
	if c.stop != nil {
		c.stop()
	}
	if c.serve != nil {
		c.serve() // it ends at once, and closes what is open
	}
	c.serving.Wait()
	c.server, c.accounts, c.stop, c.serve = nil, nil, nil, nil
}

// For tells a harness where the channels are.
func (c *Server) For(s workspace.Server, nick string) (harness.Server, error) {
	p, err := c.Where()
	if err != nil {
		return harness.Server{}, err
	}
	if p.Own {
		return harness.Server{Address: p.Socket, Own: true, PasswordFile: c.secretFile(nick)}, nil
	}
	if p.Socket != "" && !s.TLS && s.PasswordEnv == "" {
		return harness.Server{Address: p.Socket}, nil
	}
	server := harness.Server{Address: p.Address, TLS: s.TLS, Insecure: s.Insecure, PasswordEnv: s.PasswordEnv}
	if s.PasswordEnv != "" {
		server.Account = nick
	}
	return server, nil
}

// guests are who the keeper's own server knows.
type guests struct {
	agents map[string]string    // secrets by nick
	owners []string             // nicks that are enough to decide
	person func(net.Conn) error // refuses connections of agents' processes
}

// Admit tells the server which agents come back when they are away, what each is
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

// Secret returns that of an agent, and makes it for the first start.
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
