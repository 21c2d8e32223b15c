package dend

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
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
// machine only, and lets in this user and root.
type chatServer struct {
	dir string // its history, and where it listens

	mu      sync.Mutex // guards the fields below
	place   chatPlace
	stop    context.CancelFunc // nil while it does not run
	serving sync.WaitGroup
}

func (c *chatServer) file() string { return filepath.Join(c.dir, "server.json") }

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
	server, err := ircd.New(ircd.Config{Dir: filepath.Join(c.dir, "history"), Network: network(ws), OpenTopics: true})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	c.place = chatPlace{V: chatVersion, Address: l.Addr().String(), Own: true}
	if err := c.save(); err != nil {
		return errors.Join(err, l.Close(), server.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.serving.Go(func() {
		if err := server.Serve(ctx, ircd.Listener{Listener: ownUserListener{l}}); err != nil {
			log.Printf("the server for channels ended: %v", err)
		}
	})
	return nil
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
	return server, nil
}
