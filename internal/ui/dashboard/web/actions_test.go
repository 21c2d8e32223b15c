package web_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/ui/dashboard/web"
)

// allowActions needs a Home for the audit log: newWorld has put it in.
func allowActions(o *web.Options) { o.AllowActions, o.User = true, "tester" }

// decision is a request as the page makes it.
func (w *world) decision(body string) *http.Request {
	w.T.Helper()
	r, err := http.NewRequestWithContext(within(w.T), http.MethodPost, w.root()+"api/decisions", strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	r.Header.Set("Origin", strings.TrimSuffix(w.root(), "/"))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/json")
	return r
}

const goodDecision = `{"agent":"coder","id":"k3f","option":"deny"}`

// Without --allow-actions there is nothing to post to.
func TestPageDecidesNothingUnlessAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "den.toml"))
	c := w.visitor()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodOptions} {
		r := w.decision(goodDecision)
		r.Method = method
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", method, answer.Status)
		}
	}
}

// Pages may act only where no other machine reaches them.
func TestActionsNeedALoopbackAddress(t *testing.T) {
	t.Parallel()
	if _, err := web.Listen(t.Context(), web.Options{AllowActions: true, Addr: "0.0.0.0:0"}); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
}

// A decision that is not den's own page's is refused. The last row, where no
// keeper runs, shows that the others were refused for their reason alone.
func TestForgedDecisionsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "den.toml"), allowActions)
	own := w.visitor()
	u, err := url.Parse(w.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if r.Header.Del(name); value != "" {
				r.Header.Set(name, value)
			}
		}
	}
	host := func(name string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = name + ":" + u.Port()
			r.Header.Set("Origin", "http://"+r.Host)
		}
	}
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	as := func(*http.Request) {}
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"no origin", header("Origin", ""), http.StatusForbidden},
		{"another page", header("Origin", "http://evil.example"), http.StatusForbidden},
		{"a sandboxed page", header("Origin", "null"), http.StatusForbidden},
		{"a page of another port", header("Origin", "http://127.0.0.1:1"), http.StatusForbidden},
		{"a page over TLS", header("Origin", "https://"+u.Host), http.StatusForbidden},
		{"a browser that says cross-site", header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		{"a browser that says same-site", header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		{"a typed address", header("Sec-Fetch-Site", "none"), http.StatusForbidden},
		{"a form", header("Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		{"a form with files", header("Content-Type", "multipart/form-data; boundary=x"), http.StatusUnsupportedMediaType},
		{"a form of text", header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		{"no type", header("Content-Type", ""), http.StatusUnsupportedMediaType},
		{"no token", as, http.StatusUnauthorized},
		{"a token as for a WebSocket", header("Sec-WebSocket-Protocol", "den.token."+w.token()), http.StatusUnauthorized},
		{"GET", method(http.MethodGet), http.StatusMethodNotAllowed},
		{"PUT", method(http.MethodPut), http.StatusMethodNotAllowed},
		{"a preflight", method(http.MethodOptions), http.StatusMethodNotAllowed},
		{"a name that leads here", host("evil.example"), http.StatusMisdirectedRequest},
		{"a name that ends in localhost", host("evil.localhost"), http.StatusMisdirectedRequest},
		{"an address that is not this machine's", host("10.1.2.3"), http.StatusMisdirectedRequest},
		{"an older browser", header("Sec-Fetch-Site", ""), http.StatusServiceUnavailable},
		{"localhost", host("localhost"), http.StatusServiceUnavailable},
		{"a charset", header("Content-Type", "application/json; charset=utf-8"), http.StatusServiceUnavailable},
		{"the page's own", as, http.StatusServiceUnavailable},
	} {
		r := w.decision(goodDecision)
		test.change(r)
		c := own
		if test.want == http.StatusUnauthorized {
			c = stranger(t)
		}
		status, body := do(t, c, r)
		if status != test.want || status == http.StatusServiceUnavailable && !strings.Contains(body, "no keeper") {
			t.Errorf("%s: %d, want %d\n%s", test.name, status, test.want, body)
		}
	}
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"too long":     {`{"agent":"coder","id":"k3f","option":"deny","why":"` + strings.Repeat("x", 20_000) + `"}`, http.StatusRequestEntityTooLarge},
		"no JSON":      {`agent=coder`, http.StatusBadRequest},
		"nothing":      {``, http.StatusBadRequest},
		"two":          {goodDecision + goodDecision, http.StatusBadRequest},
		"a list":       {`[` + goodDecision + `]`, http.StatusBadRequest},
		"more fields":  {`{"agent":"coder","id":"k3f","option":"deny","by":"root"}`, http.StatusBadRequest},
		"no agent":     {`{"id":"k3f","option":"deny"}`, http.StatusBadRequest},
		"no id":        {`{"agent":"coder","option":"deny"}`, http.StatusBadRequest},
		"no option":    {`{"agent":"coder","id":"k3f"}`, http.StatusBadRequest},
		"other option": {`{"agent":"coder","id":"k3f","option":"maybe"}`, http.StatusBadRequest},
	} {
		if status, body := do(t, own, w.decision(test.body)); status != test.want {
			t.Errorf("%s: %d, want %d\n%s", name, status, test.want, body)
		}
	}
}
