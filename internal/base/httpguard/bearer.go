package httpguard

import (
	"net/http"
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
