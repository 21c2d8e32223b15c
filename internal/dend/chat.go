package dend

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/harness"
	"den/internal/irc/ircd"
	"den/internal/workspace"
)

// chatPlace is where a workspace's channels are, as it is kept for the next
// keeper: agents that run go on with the same address.
type chatPlace struct {
	V       int    `json:"v"`
	Address string `json:"address"`
	Own     bool   `json:"own"` // the keeper's server
}

const chatVersion = 1

// chatServer is the keeper's own server for channels. It listens on this
// machine only, and lets in this user and root: by who is at the other end of
// a connection, or where the system does not tell that, by a password in a
// file of this user.
type chatServer struct {
	dir        string // its history, and where it listens
	byPassword bool

	mu      sync.Mutex // guards the fields below
	place   chatPlace
	server  *ircd.Server       // nil while it does not run
	stop    context.CancelFunc // nil while it does not run
	serving sync.WaitGroup
}

func newChatServer(dir string) *chatServer {
	return &chatServer{dir: dir, byPassword: runtime.GOOS != "linux"} // see rpc.LoopbackUser
}

func (c *chatServer) file() string { return filepath.Join(c.dir, "server.json") }

// passwordFile is where the password of the keeper's own server is, "" where it
// has none.
func (c *chatServer) passwordFile() string {
	if !c.byPassword {
		return ""
	}
	return filepath.Join(c.dir, "password")
}

// password returns that of the keeper's own server, and makes it for the first
// start.
func (c *chatServer) password() (string, error) {
	file := c.passwordFile()
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(rand.Text())
		if err = os.MkdirAll(c.dir, 0o700); err == nil {
			err = atomicfile.Write(file, data)
		}
	}
	if err != nil {
		return "", fault.Errorf(fault.Storage, "keep the server's password: %w", err)
	}
	return string(data), nil
}

// needsChat reports whether an agent of the workspace is in channels.
func needsChat(ws *workspace.Workspace) bool {
	for i := range ws.Agents {
		if ws.Agents[i].IsMind() && len(ws.Agents[i].Channel.Channels) > 0 {
			return true
		}
	}
	return false
}

// ensure makes sure that the workspace's channels have a place: the server that
// its file names, or one of the keeper's own.
func (c *chatServer) ensure(ws *workspace.Workspace) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil || !needsChat(ws) {
		return nil
	}
	wanted, own := address(ws.Server)
	if !own {
		c.place = chatPlace{V: chatVersion, Address: wanted}
		return c.save()
	}
	if wanted == "" {
		last, err := c.load()
		if err != nil {
			return err
		}
		if last.Own {
			wanted = last.Address
		}
	}
	l, err := listenChat(wanted)
	if errors.Is(err, syscall.EADDRINUSE) && wanted != "" && ws.Server.Port != 0 {
		c.place = chatPlace{V: chatVersion, Address: wanted} // a server is there already
		return c.save()
	}
	if err != nil {
		return fault.Hintf(fault.Errorf(fault.KindOf(err), "start the server for channels: %w", err), "name another port in [server]")
	}
	password, err := c.password()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if password == "" {
		l = ownUserListener{l}
	}
	server, err := ircd.New(ircd.Config{Dir: filepath.Join(c.dir, "history"), Network: network(ws), OpenTopics: true, Password: password})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	c.place = chatPlace{V: chatVersion, Address: l.Addr().String(), Own: true}
	if err := c.save(); err != nil {
		return errors.Join(err, l.Close(), server.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.server, c.stop = server, cancel
	c.serving.Go(func() {
		if err := server.Serve(ctx, ircd.Listener{Listener: l}); err != nil {
			log.Printf("the server for channels ended: %v", err)
		}
	})
	return nil
}

// expect tells the server which agents come back when they are away: what is
// said to them in private meanwhile is kept for them.
func (c *chatServer) expect(agents []member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return
	}
	var nicks []string
	for _, m := range agents {
		nicks = append(nicks, nickOf(m.Name()))
	}
	c.server.SetResidents(nicks)
}

// address returns where the file says the server is, and whether it may be the
// keeper's own: one on another machine cannot.
func address(s workspace.Server) (address string, own bool) {
	if s.Host == "" && s.Port == 0 {
		return "", true
	}
	host := s.Host
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	port := s.Port
	if port == 0 {
		port = 6667
	}
	ip := net.ParseIP(host)
	return net.JoinHostPort(host, strconv.Itoa(port)), ip != nil && ip.IsLoopback()
}

// listenChat listens at an address or, if that was only the last one and is
// taken, at any port.
func listenChat(wanted string) (net.Listener, error) {
	if wanted == "" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return net.Listen("tcp", wanted)
}

func network(ws *workspace.Workspace) string {
	if ws.Server.Name != "" {
		return ws.Server.Name
	}
	return "den"
}

func (c *chatServer) save() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fault.Errorf(fault.Storage, "keep the server's address: %w", err)
	}
	if err := atomicfile.ReplaceJSON(c.file(), c.place); err != nil {
		return fault.Errorf(fault.Storage, "keep the server's address: %w", err)
	}
	return nil
}

func (c *chatServer) load() (chatPlace, error) {
	var p chatPlace
	data, err := os.ReadFile(c.file())
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fault.Errorf(fault.Storage, "read the server's address: %w", err)
	}
	if err := json.Unmarshal(data, &p); err != nil || p.V > chatVersion {
		return p, fault.Errorf(fault.Storage, "read the server's address %s (version %d): %v", c.file(), p.V, err)
	}
	return p, nil
}

// where returns the place of the channels, also to a process that is not the
// keeper.
func (c *chatServer) where() (chatPlace, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.place.Address != "" {
		return c.place, nil
	}
	return c.load()
}

// close ends the server and waits for it.
func (c *chatServer) close() {
	c.mu.Lock()
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	c.serving.Wait()
}

// chatOf tells a harness where the channels are.
func (d *daemon) chatOf(s workspace.Server, nick string) (harness.Server, error) {
	p, err := d.chat.where()
	if err != nil {
		return harness.Server{}, err
	}
	server := harness.Server{Address: p.Address, TLS: s.TLS && !p.Own, Insecure: s.Insecure, PasswordEnv: s.PasswordEnv}
	if s.PasswordEnv != "" {
		server.Account = nick
	}
	if p.Own {
		server.Own, server.PasswordFile = true, d.chat.passwordFile()
	}
	return server, nil
}
