package ircd

import (
	"crypto/tls"
	"net"

	"den/internal/base/fault"
)

// A Listener is where clients connect.
type Listener struct {
	net.Listener
	TLS *tls.Config // or nil: plain text, on loopback addresses and Unix sockets only
	// Login has every client log in, also on a loopback address, where every
	// user of the machine can connect. Elsewhere they always have to.
	Login bool
}

// Listen opens a TCP address.
func Listen(address string, config *tls.Config) (Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return Listener{}, fault.Errorf(fault.Unreachable, "listen for IRC clients on %s: %w", address, err)
	}
	return Listener{Listener: l, TLS: config}, nil
}

// local reports whether only processes of this machine reach the listener.
func (l Listener) local() bool {
	switch a := l.Addr().(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// loginRequired reports whether clients have to log in there.
func (l Listener) loginRequired() bool { return l.Login || !l.local() }

// check refuses to offer the server to a network without encryption and
// logins.
func (s *Server) check(l Listener) error {
	if !l.loginRequired() {
		return nil
	}
	if !l.local() && (l.TLS == nil || len(l.TLS.Certificates) == 0 && l.TLS.GetCertificate == nil) {
		return fault.Hintf(fault.Errorf(fault.Denied, "serve IRC on %s: clients from outside need TLS, and it is not configured", l.Addr()),
			"give the server a certificate, or let it listen on 127.0.0.1")
	}
	if s.cfg.Accounts == nil {
		return fault.Hintf(fault.Errorf(fault.Denied, "serve IRC on %s: clients from outside have to log in, and there are no accounts", l.Addr()),
			"create accounts, or let it listen on 127.0.0.1")
	}
	return nil
}

// hostOf is how others see where a client comes from.
func hostOf(conn net.Conn) string {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return "localhost"
	}
	host := tcp.IP.String()
	if host[0] == ':' {
		host = "0" + host // no parameter begins with a colon
	}
	return host
}
