package httpguard

import (
	"context"
	"fmt"
	"net"

	"den/internal/base/fault"
)

// AnyPort is a free port that only this machine reaches.
const AnyPort = "127.0.0.1:0"

// Listen opens the listener of a server; what names it in errors. An empty
// address is AnyPort.
func Listen(ctx context.Context, what, addr string) (net.Listener, error) {
	if addr == "" {
		addr = AnyPort
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "serve %s on %s: %w", what, addr, err), "ADDR is HOST:PORT; port 0 takes any that is free")
	}
	return l, nil
}

// IsLoopback reports whether only this machine can connect.
func IsLoopback(l net.Listener) bool { return l.Addr().(*net.TCPAddr).IP.IsLoopback() }

// HostPort returns an address at which programs of this machine reach the
// server.
func HostPort(l net.Listener) string {
	a := l.Addr().(*net.TCPAddr)
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, fmt.Sprint(a.Port))
}
