package web

import (
	"net"
	"net/http"
	"strings"

	"den/internal/httpguard"
)

// guard admits only requests with the token, and none made by other pages.
type guard struct {
	token  string // in the address that is printed
	cookie string // the cookie's name: cookies do not tell ports apart
	secret string // the cookie's value
	name   string // the host name that the server was told to listen on, or ""
}

func newGuard(listenOn string, port string) *guard {
	g := &guard{token: httpguard.NewToken(), secret: httpguard.NewToken(), cookie: "den-web-" + port}
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
	if !httpguard.Equal(r.URL.Query().Get("token"), g.token) {
		http.Error(w, "den: this token is not (or no longer) valid: each start of the dashboard makes a new one", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (g *guard) admitted(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && httpguard.Equal(c.Value, g.secret)
}

// fromElsewhere reports whether another page asks. A link that leads to the
// page is fine: it needs the token.
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
