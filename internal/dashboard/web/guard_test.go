package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// visitor is a browser's way to ask: it keeps cookies.
func visitor(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: patience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// do makes a request, and returns the status and the body of the answer.
func do(t *testing.T, c *http.Client, r *http.Request) (int, string) {
	t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func get(t *testing.T, c *http.Client, address string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	r, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

// root is the server's address without the token.
func (w *world) root() string {
	w.T.Helper()
	u, err := url.Parse(w.server.URL())
	if err != nil {
		w.T.Fatal(err)
	}
	u.RawQuery = ""
	return u.String()
}

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := visitor(t)
	for _, path := range []string{"", "assets/app.js", "assets/icon.svg", "live", "api/sessions/x/timeline", "?token=", "?token=wrong"} {
		if r, body := get(t, c, w.root()+path); r.StatusCode != http.StatusUnauthorized || strings.Contains(body, "<script") {
			t.Errorf("%q without a token: %s\n%s", path, r.Status, body)
		}
	}
	r, body := get(t, c, w.server.URL())
	if r.StatusCode != http.StatusOK || !strings.Contains(body, "/assets/app.js") {
		t.Fatalf("with the token: %s\n%s", r.Status, body)
	}
	if r.Request.URL.RawQuery != "" {
		t.Errorf("the token stays in the address: %s", r.Request.URL)
	}
	if r, _ := get(t, c, w.root()+"assets/app.js"); r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("a file with the cookie: %s, %s", r.Status, r.Header.Get("Content-Type"))
	}
	for _, path := range []string{"assets/..%2fguard.go", "assets/nothing.js", "api/sessions/..%2f..%2fetc/at"} {
		if r, _ := get(t, c, w.root()+path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s, want 404", path, r.Status)
		}
	}
	token, _ := url.Parse(w.server.URL())
	if strings.Contains(w.words.String(), token.Query().Get("token")) {
		t.Error("the log has the token")
	}
}

func TestCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := visitor(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, _ := get(t, c, w.server.URL())
	cookies := r.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies: %v", cookies)
	}
	k := cookies[0]
	if !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/" {
		t.Errorf("the cookie is %s", k)
	}
	if strings.Contains(w.server.URL(), k.Value) {
		t.Error("the cookie is the token")
	}
}

func TestOtherNamesAndPagesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := visitor(t)
	get(t, c, w.server.URL())
	u, _ := url.Parse(w.root())
	for _, test := range []struct {
		name, path string
		header     []string
		want       int
	}{
		{"a name that leads here", "", []string{"Host", "evil.example:" + u.Port()}, http.StatusMisdirectedRequest},
		{"localhost, which has cookies of its own", "", []string{"Host", "localhost:" + u.Port()}, http.StatusUnauthorized},
		{"another origin", "assets/app.js", []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"another port", "assets/app.js", []string{"Origin", "http://127.0.0.1:1"}, http.StatusForbidden},
		{"no origin", "assets/app.js", []string{"Origin", "null"}, http.StatusForbidden},
		{"the own origin", "assets/app.js", []string{"Origin", "http://" + u.Host}, http.StatusOK},
		{"a page's request", "assets/app.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, http.StatusForbidden},
		{"a frame on the same host", "assets/app.js", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"}, http.StatusForbidden},
		{"a link to the page", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, http.StatusOK},
	} {
		r, _ := get(t, c, w.root()+test.path, test.header...)
		if r.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", test.name, r.Status, test.want)
		}
	}
	r, err := c.Post(w.root(), "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %s", r.Status)
	}
}

func TestPolicyForbidsAllButThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	r, body := get(t, visitor(t), w.server.URL())
	policy := r.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(body, " style=") || strings.Contains(body, "<script>") || strings.Contains(body, " onclick") {
		t.Error("something is inline")
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// dial opens a page's connection.
func (w *world) dial(ctx context.Context, c *http.Client, origin string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	conn, r, err := websocket.Dial(ctx, strings.Replace(w.root(), "http", "ws", 1)+"live", &websocket.DialOptions{HTTPClient: &http.Client{Jar: c.Jar}, HTTPHeader: h})
	if conn != nil {
		conn.SetReadLimit(64 << 20)
	}
	return conn, r, err
}

func TestOtherPagesGetNoConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := visitor(t)
	get(t, c, w.server.URL())
	if _, r, err := w.dial(within(t), c, "http://evil.example"); err == nil || r == nil || r.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page connects: %v", err)
	}
	conn, _, err := w.dial(within(t), c, strings.TrimSuffix(w.root(), "/"))
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
}

// Headers that never end must not hold the server when it is told to end.
func TestEndsWithRequestsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	u, _ := url.Parse(w.root())
	conn, err := new(net.Dialer).DialContext(within(t), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+u.Host+"\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	c := visitor(t)
	get(t, c, w.server.URL())
	page, _, err := w.dial(within(t), c, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { page.CloseNow() })
	w.stop() // it fails the test if it does not come back
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
		t.Error("the server still answers")
	}
}
