package chatserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/chat/irc/ircd"
	"den/internal/place/workspace"
	"den/internal/session/home"
)

// listeners are where the keeper's own server is reached.
type listeners struct {
	here    *rpc.OwnListener // this user, by a socket
	machine net.Listener     // every user of this machine
	outside *ircd.Listener   // or nil: no other one
}

func (l listeners) all() []ircd.Listener {
	all := []ircd.Listener{{Listener: l.here}, {Listener: l.machine, Login: true}}
	if l.outside != nil {
		all = append(all, *l.outside)
	}
	return all
}

func (l listeners) place() Place {
	p := Place{V: version, Address: l.machine.Addr().String(), Socket: l.here.Addr().String(), Own: true}
	if l.outside != nil {
		p.Listen = l.outside.Addr().String()
	}
	return p
}

func (l listeners) close() error {
	var errs []error
	for _, one := range l.all() {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// errTaken says that a server listens already where the file wants one.
var errTaken = errors.New("a server is there already")

// listen opens what the file says. last is where the keeper's server was.
func (c *Server) listen(s workspace.Server, last Place) (listeners, error) {
	machine, err := listenHere(s, last)
	if err != nil {
		return listeners{}, err
	}
	here, err := c.listenAtSocket(machine.Addr().String())
	if err != nil {
		return listeners{}, errors.Join(err, machine.Close())
	}
	all := listeners{here: here, machine: machine}
	if s.Listen == "" {
		return all, nil
	}
	outside, err := listenOutside(s)
	if err != nil {
		return listeners{}, errors.Join(err, all.close())
	}
	all.outside = &outside
	return all, nil
}

// listenAtSocket listens for programs of this user, beside the server's address.
func (c *Server) listenAtSocket(address string) (*rpc.OwnListener, error) {
	path, err := c.socketFor(address)
	if err != nil {
		return nil, err
	}
	l, err := rpc.ListenOwn(path)
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "start the server for channels: %w", err)
	}
	return l, nil
}

// socketFor is the socket of the server of this user that listens at an address:
// another workspace finds it by that.
func (c *Server) socketFor(address string) (string, error) {
	return home.RunPath("chat\x00"+address, c.getenv)
}

// neighbour is the place of a server that listens at an address already. If it is
// that of another keeper of this user, its socket answers.
func (c *Server) neighbour(address string) Place {
	place := Place{Address: address}
	path, err := c.socketFor(address)
	if err != nil {
		return place // nor has the other keeper one
	}
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close() // Best effort: it was only tried.
		place.Socket = path
	}
	return place
}

// listenHere listens for clients of this machine: where the file says, else
// where the keeper's server was, else at any port.
func listenHere(s workspace.Server, last Place) (net.Listener, error) {
	wanted := address(s)
	named := wanted != ""
	if !named {
		wanted = "127.0.0.1:0"
		if last.Own {
			wanted = last.Address
		}
	}
	l, err := net.Listen("tcp", wanted)
	inUse := errors.Is(err, syscall.EADDRINUSE)
	switch {
	case err == nil:
		return l, nil
	case inUse && !named: // by another program, since then
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			return l, nil
		}
	case inUse && s.Port != 0 && s.Listen == "":
		return nil, errTaken
	}
	return nil, fault.Hintf(fault.Errorf(fault.KindOf(err), "start the server for channels: %w", err), "name another port in [server]")
}

// address is where the file says the server is, "" where it does not say.
func address(s workspace.Server) string {
	if s.Host == "" && s.Port == 0 {
		return ""
	}
	host := s.Host
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	port := cmp.Or(s.Port, 6667)
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// listenOutside listens for clients of other machines.
func listenOutside(s workspace.Server) (ircd.Listener, error) {
	c := &certificate{certFile: s.TLSCert, keyFile: s.TLSKey}
	if _, err := c.get(nil); err != nil {
		return ircd.Listener{}, err
	}
	l, err := ircd.Listen(s.Listen, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12})
	if err != nil {
		return l, fault.Hintf(err, "name another address in [server] listen")
	}
	l.Login = true
	return l, nil
}

// certificate is the server's, read again when its files change: they are
// renewed every few weeks.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex // guards the fields below
	loaded *tls.Certificate
	state  [2]fileState // of the files, when they were read
}

// fileState tells whether a file has changed.
type fileState struct {
	modified time.Time
	size     int64
}

// get returns the certificate. While new files cannot be read, or do not belong
// together yet, the old one stays.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := [2]fileState{stateOf(c.certFile), stateOf(c.keyFile)}
	if c.loaded != nil && state == c.state {
		return c.loaded, nil
	}
	loaded, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.loaded, c.state = &loaded, state
		return c.loaded, nil
	}
	err = fault.Hintf(fault.Errorf(fault.Usage, "read the certificate of the server for channels: %w", err), "see [server] tls_cert and tls_key")
	if c.loaded == nil {
		return nil, err
	}
	if state != c.state {
		log.Printf("%v; the one from before is still used", err)
		c.state = state // tell it once
	}
	return c.loaded, nil
}

// stateOf is the zero value for a file that cannot be seen.
func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{info.ModTime(), info.Size()}
}
