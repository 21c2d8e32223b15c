package web

import (
	"net"
	"net/http"
	"strings"

	"den/internal/base/httpguard"
)

// guard admits only requests with the token, and none made by other pages. The
// page's own files are for everybody: they hold nothing that is secret.
//
// There is no cookie: one reaches every port of a host, and so whatever else
// listens on this machine.
type guard struct {
	token string // in the fragment of the address that is printed
	name  string // the host name that the server was told to listen on, or ""
}

func newGuard(listenOn string) *guard {
	g := &guard{token: httpguard.NewToken()}
	if host, _, err := net.SplitHostPort(listenOn); err == nil {
		g.name = host
	}
	return g
}

// wrap puts the checks before a handler, the cheapest first.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header(), r.Host)
		switch {
		case !httpguard.KnowsHost(r.Host, g.name):
			http.Error(w, "den does not answer to this name: use the address that it printed", http.StatusMisdirectedRequest)
		case fromElsewhere(r):
			http.Error(w, "den does not answer to other pages", http.StatusForbidden)
		case !isPublic(r) && !g.admitted(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "den: open the address that 'den dashboard --web' printed: each start of it makes a new one", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isPublic reports whether a request is for a file of the page.
func isPublic(r *http.Request) bool {
	return r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/assets/")
}

// admitted reports whether a request has the token: in a header, or as a
// subprotocol, which is all that a page can send with a WebSocket.
func (g *guard) admitted(r *http.Request) bool {
	return httpguard.Equal(httpguard.TokenOf(r), g.token) ||
		isSocket(r) && httpguard.Equal(httpguard.ProtocolTokenOf(r), g.token)
}

// isSocket reports whether a request is for a WebSocket.
func isSocket(r *http.Request) bool {
	return r.URL.Path == livePath || strings.HasPrefix(r.URL.Path, takePath)
}

// fromElsewhere reports whether another page asks. A link that leads to the
// page is fine: it shows nothing without the token.
func fromElsewhere(r *http.Request) bool {
	link := r.URL.Path == "/" && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	return !link && !httpguard.SameOrigin(r)
}

// harden sets headers that restrict the page to its own files and this server.
func harden(h http.Header, host string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; "+
		"connect-src 'self' ws://"+cleanHost(host)+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// cleanHost drops characters that cannot be part of a host name, because it
// comes from the request.
func cleanHost(host string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-:[]", r) {
			return r
		}
		return -1
	}, host)
}
