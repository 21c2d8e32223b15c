package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard admits only requests with the token, and none made by other pages.
type guard struct {
	token  string // in the address that is printed
	cookie string // the cookie's name: cookies do not tell ports apart
	secret string // the cookie's value
	name   string // the host name that the server was told to listen on, or ""
}

func newGuard(listenOn string, port string) *guard {
	g := &guard{token: randomToken(), secret: randomToken(), cookie: "den-web-" + port}
	if host, _, err := net.SplitHostPort(listenOn); err == nil {
		g.name = host
	}
	return g
}

func randomToken() string {
	b := make([]byte, 32)
	rand.Read(b) // It never fails.
	return base64.RawURLEncoding.EncodeToString(b)
}

// wrap puts the checks before a handler, the cheapest first.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header(), r.Host)
		switch {
		case !g.knowsHost(r.Host):
			http.Error(w, "den does not answer to this name: use the address that it printed", http.StatusMisdirectedRequest)
		case !sameOrigin(r):
			http.Error(w, "den does not answer to other pages", http.StatusForbidden)
		case r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
			g.admit(w, r)
		case !g.admitted(r):
			http.Error(w, "den: open the address with the token that 'den dashboard --web' printed", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// admit turns the token of the address into a cookie, so that the token stays
// neither in the address bar nor in links.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) {
	if !equal(r.URL.Query().Get("token"), g.token) {
		http.Error(w, "den: this token is not (or no longer) valid: each start of the dashboard makes a new one", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (g *guard) admitted(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && equal(c.Value, g.secret)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// knowsHost refuses names that others could point at this machine: only
// addresses, localhost, and the name that the server was started with.
func (g *guard) knowsHost(hostport string) bool {
	host := hostOf(hostport)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return strings.EqualFold(host, "localhost") || g.name != "" && strings.EqualFold(host, g.name)
}

// hostOf returns the name or address in a Host header.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameOrigin refuses what another page asks for. A link that leads here is
// fine: it needs the token.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
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
