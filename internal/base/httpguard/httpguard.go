package httpguard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"den/internal/base/fault"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Bearer admits programs of this machine that have the token, and no pages. The
// cheapest check comes first; none of the answers repeats what was sent.
func Bearer(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !IsLoopbackName(r.Host):
			http.Error(w, "den does not answer to this name: use the address that it printed", http.StatusMisdirectedRequest)
		case !SameOrigin(r):
			http.Error(w, "den does not answer to pages", http.StatusForbidden)
		case !Equal(TokenOf(r), token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "den wants its token: 'Authorization: Bearer TOKEN'", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// TokenOf returns the token of a request, or "".
func TokenOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// tokenProtocol begins the subprotocol that carries a page's token: a browser
// sends no header of a page's own with a WebSocket.
const tokenProtocol = "den.token."

// ProtocolTokenOf returns the token that a page sends as one of the subprotocols
// of a WebSocket, or "".
func ProtocolTokenOf(r *http.Request) string {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for offered := range strings.SplitSeq(line, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(offered), tokenProtocol); ok {
				return token
			}
		}
	}
	return ""
}

// NewToken makes a secret that nobody can guess. It can stand in an address and
// in a header.
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // It never fails.
	return base64.RawURLEncoding.EncodeToString(b)
}

// Equal compares secrets, in a time that tells nothing about them.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// KnowsHost reports whether a Host header is one that others cannot point at
// this machine: an address, localhost, or own, the name that the server was
// told to listen on (or "").
func KnowsHost(hostport, own string) bool {
	host := hostOf(hostport)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || own != "" && strings.EqualFold(host, own)
}

// IsLoopbackName is KnowsHost for servers that answer to this machine alone.
func IsLoopbackName(hostport string) bool {
	host := hostOf(hostport)
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// hostOf returns the name or address in a Host header.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// SameOrigin refuses what a page of another server asks for. Programs that are
// no browsers say nothing, and pass.
func SameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return isOwn(origin, r)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// FromOwnPage reports whether a browser says that the request was made by a
// page of this server. Browsers always say so for a POST.
func FromOwnPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // older browsers do not say it
	return isOwn(r.Header.Get("Origin"), r) && (site == "" || site == "same-origin")
}

func isOwn(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, r.Host)
}

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
