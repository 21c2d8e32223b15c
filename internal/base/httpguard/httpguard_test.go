package httpguard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"den/internal/base/httpguard"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		host            string
		knows, loopback bool
	}{
		{"127.0.0.1:80", true, true},
		{"127.8.9.1", true, true},
		{"[::1]:80", true, true},
		{"::1", true, true},
		{"[::ffff:127.0.0.1]:80", true, true},
		{"localhost", true, true},
		{"LocalHost:8080", true, true},
		{"192.168.1.2:80", true, false},
		{"own.example:80", true, false},
		{"evil.example", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"localhost.evil.example:80", false, false},
		{"", false, false},
	} {
		if got := httpguard.KnowsHost(c.host, "own.example"); got != c.knows {
			t.Errorf("KnowsHost(%q) = %v", c.host, got)
		}
		if got := httpguard.IsLoopbackName(c.host); got != c.loopback {
			t.Errorf("IsLoopbackName(%q) = %v", c.host, got)
		}
	}
}

func TestBearer(t *testing.T) {
	token := httpguard.NewToken()
	h := httpguard.Bearer(token, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
	for _, c := range []struct {
		name, host string
		header     []string
		want       int
	}{
		{"the token", "127.0.0.1:9", []string{"Authorization", "Bearer " + token}, http.StatusOK},
		{"in another case", "localhost:9", []string{"Authorization", "bearer " + token}, http.StatusOK},
		{"no token", "127.0.0.1:9", nil, http.StatusUnauthorized},
		{"an empty one", "127.0.0.1:9", []string{"Authorization", "Bearer "}, http.StatusUnauthorized},
		{"another scheme", "127.0.0.1:9", []string{"Authorization", "Basic " + token}, http.StatusUnauthorized},
		{"a longer one", "127.0.0.1:9", []string{"Authorization", "Bearer " + token + "x"}, http.StatusUnauthorized},
		{"a name that leads here", "evil.example:9", []string{"Authorization", "Bearer " + token}, http.StatusMisdirectedRequest},
		{"an address of this machine elsewhere", "192.0.2.1:9", []string{"Authorization", "Bearer " + token}, http.StatusMisdirectedRequest},
		{"a page", "127.0.0.1:9", []string{"Authorization", "Bearer " + token, "Origin", "http://evil.example"}, http.StatusForbidden},
		{"a page without an origin", "127.0.0.1:9", []string{"Authorization", "Bearer " + token, "Origin", "null"}, http.StatusForbidden},
		{"a page on another port", "127.0.0.1:9", []string{"Authorization", "Bearer " + token, "Origin", "http://127.0.0.1:10"}, http.StatusForbidden},
		{"a page's fetch", "127.0.0.1:9", []string{"Authorization", "Bearer " + token, "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/mcp", strings.NewReader("{}"))
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: %d %q, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
}

func TestProtocolToken(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"den.live"}, ""},
		{[]string{"den.live, den.token.abc_-1"}, "abc_-1"},
		{[]string{"den.token.abc,den.live"}, "abc"},
		{[]string{"den.live", "den.token.abc"}, "abc"},
		{[]string{"den.token."}, ""},
		{[]string{"xden.token.abc"}, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/live", nil)
		r.Header["Sec-Websocket-Protocol"] = c.lines
		if got := httpguard.ProtocolTokenOf(r); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}

func TestListen(t *testing.T) {
	l, err := httpguard.Listen(t.Context(), "it", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !httpguard.IsLoopback(l) || !httpguard.IsLoopbackName(httpguard.HostPort(l)) {
		t.Errorf("it listens on %s", l.Addr())
	}
	if _, err := httpguard.Listen(t.Context(), "it", "nonsense"); err == nil || !strings.Contains(err.Error(), "serve it on nonsense") {
		t.Error(err)
	}
}
