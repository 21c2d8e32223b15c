package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// stranger asks without a token, and keeps cookies, as a browser does.
func stranger(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: patience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// visitor asks as the page does: with the token.
func (w *world) visitor() *http.Client {
	w.T.Helper()
	c := stranger(w.T)
	c.Transport = bearer(w.token())
	return c
}

// bearer is a token that is sent with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// CloseIdleConnections is what a client's is passed on to.
func (bearer) CloseIdleConnections() { http.DefaultTransport.(*http.Transport).CloseIdleConnections() }

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
	u.Fragment = ""
	return u.String()
}

// token is that of the address.
func (w *world) token() string {
	w.T.Helper()
	_, token, ok := strings.Cut(w.server.URL(), "/#token=")
	if !ok || len(token) < 40 {
		w.T.Fatalf("the address is %s", w.server.URL())
	}
	return token
}

// What is secret needs the token, in the header and nowhere else. The page itself
// is for everybody: it has nothing to hide, and it is the same for all.
func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", allowActions)
	c, token := stranger(t), w.token()
	private := []string{"live", "api/sessions/x/timeline", "api/kernel/x/ticks", "api/decisions", "api/nothing", "nothing"}
	for _, path := range private {
		for _, sent := range []string{"", "?token=" + token} {
			if r, body := get(t, c, w.root()+path+sent); r.StatusCode != http.StatusUnauthorized || strings.Contains(body, token) {
				t.Errorf("%q without the header: %s\n%s", path+sent, r.Status, body)
			}
		}
		for _, header := range []string{"Bearer", "Bearer ", "Bearer x" + token, "Basic " + token} {
			if r, _ := get(t, c, w.root()+path, "Authorization", header); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("%q with %q: %s", path, header, r.Status)
			}
		}
	}
	for _, path := range []string{"", "?token=" + token, "assets/app.js", "assets/icon.svg"} {
		r, body := get(t, c, w.root()+path)
		if r.StatusCode != http.StatusOK || strings.Contains(body, token) || len(r.Cookies()) > 0 {
			t.Errorf("%q: %s, cookies %v\n%.200s", path, r.Status, r.Cookies(), body)
		}
	}
	own := w.visitor()
	if r, _ := get(t, own, w.root()+"assets/app.js"); !strings.HasPrefix(r.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("a script is %s", r.Header.Get("Content-Type"))
	}
	for _, path := range []string{"assets/..%2fguard.go", "assets/nothing.js", "api/sessions/..%2f..%2fetc/at"} {
		if r, _ := get(t, own, w.root()+path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s, want 404", path, r.Status)
		}
	}
	if strings.Contains(w.words.String(), token) {
		t.Error("the log has the token")
	}
}

// A page on another port of this machine gets nothing, neither from the browser,
// which keeps the token for its own port, nor by what it can send itself.
func TestPageOnAnotherPortGetsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	p := w.browse(1200, 800)
	p.until(`document.querySelector(".card")`)
	heard := make(chan *http.Request, 64) // room for all that the page below asks
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		heard <- r
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<!doctype html><title>other</title>")
	}))
	t.Cleanup(other.Close)
	p.expected = "127.0.0.1" // the browser complains of what is refused, with its address
	p.must(p.page.Navigate(within(t), other.URL))
	p.until(`document.title === "other"`)
	var got struct {
		Stored, Socket, Cookies string
		Answers                 []string
	}
	p.eval(fmt.Sprintf(`(async () => {
		const answers = [];
		for (const path of ["", "assets/app.js", "api/sessions/x/timeline", "live"])
			for (const how of [{}, { mode: "no-cors" }, { credentials: "include" }, { headers: { Authorization: "Bearer x" } }])
				answers.push(await fetch(%[1]q + path, how).then((r) => r.type + " " + r.status, () => "refused"));
		const socket = new WebSocket(%[1]q.replace("http", "ws") + "live", ["den.live"]);
		const end = await new Promise((done) => { socket.onopen = () => done("open"); socket.onclose = () => done("refused"); });
		return { Stored: Object.values(localStorage).join(), Cookies: document.cookie, Socket: end, Answers: answers };
	})()`, w.root()), &got)
	if got.Stored != "" || got.Cookies != "" || got.Socket != "refused" {
		t.Errorf("it has %+v", got)
	}
	for _, answer := range got.Answers {
		if answer != "refused" && answer != "opaque 0" { // opaque: the page cannot read it
			t.Errorf("it was answered: %s", answer)
		}
	}
	for range len(heard) {
		if r := <-heard; r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || strings.Contains(r.Referer(), w.token()) {
			t.Errorf("the other server was sent %v", r.Header)
		}
	}
}

// The token leaves the address at once, lasts for this origin, and a new one can
// be given to a tab that has the page.
func TestTokenIsKeptByThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	p := w.browse(1200, 800)
	live := `document.getElementById("link").dataset.state === "live"`
	p.until(live + ` && location.href === "` + w.root() + `#/"`)
	var history struct{ Entries []struct{ URL string } }
	p.must(p.page.Call(within(t), "Page.getNavigationHistory", nil, &history))
	for _, e := range history.Entries {
		if strings.Contains(e.URL, w.token()) {
			t.Errorf("the history has %s", e.URL)
		}
	}
	p.must(p.page.Navigate(within(t), "about:blank"))
	p.must(p.page.Navigate(within(t), w.root()))
	p.until(live + ` && document.querySelector(".card")`)
	// One that den does not know any more is dropped, and the page says what to do.
	p.expected = "/live"
	p.eval(`location.hash = "#token=from-an-earlier-start"`, nil)
	p.until(`!document.getElementById("shut").hidden && document.getElementById("shut").innerText.includes("den dashboard --web")`)
	p.until(`document.getElementById("link").dataset.state === "locked" && location.hash === "#/" && localStorage.getItem("den-token") === null`)
	p.shoot("locked")
	// A page that was never let in says nothing of sessions.
	p.must(p.page.Navigate(within(t), "about:blank"))
	p.must(p.page.Navigate(within(t), w.root()))
	p.until(`document.getElementById("link").dataset.state === "locked" && document.getElementById("nothing").hidden && document.getElementById("counts").textContent === ""`)
	p.eval(`location.hash = "#token=`+w.token()+`"`, nil)
	p.until(live + ` && document.getElementById("shut").hidden && location.hash === "#/"`)
}

func TestOtherNamesAndPagesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := w.visitor()
	u, _ := url.Parse(w.root())
	for _, test := range []struct {
		name, path string
		header     []string
		want       int
	}{
		{"a name that leads here", "", []string{"Host", "evil.example:" + u.Port()}, http.StatusMisdirectedRequest},
		{"localhost", "", []string{"Host", "localhost:" + u.Port()}, http.StatusOK},
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
	r, body := get(t, stranger(t), w.server.URL())
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

// dial opens a page's connection, as a page does: the token is a subprotocol.
func (w *world) dial(ctx context.Context, origin, token string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	o := websocket.DialOptions{HTTPHeader: h, Subprotocols: []string{"den.live", "den.token." + token}}
	conn, r, err := websocket.Dial(ctx, strings.Replace(w.root(), "http", "ws", 1)+"live", &o)
	if conn != nil {
		conn.SetReadLimit(64 << 20)
	}
	return conn, r, err
}

func TestOtherPagesGetNoConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	own := strings.TrimSuffix(w.root(), "/")
	for _, test := range []struct {
		name, origin, token string
		want                int
	}{
		{"a foreign page", "http://evil.example", w.token(), http.StatusForbidden},
		{"no token", own, "", http.StatusUnauthorized},
		{"another token", own, "x" + w.token(), http.StatusUnauthorized},
	} {
		if _, r, err := w.dial(within(t), test.origin, test.token); err == nil || r == nil || r.StatusCode != test.want {
			t.Errorf("%s connects: %v", test.name, err)
		}
	}
	conn, r, err := w.dial(within(t), own, w.token())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if chosen := r.Header.Get("Sec-WebSocket-Protocol"); chosen != "den.live" {
		t.Errorf("the answer has %q", chosen)
	}
}

// A page too many is told so, and goes on when another one is closed.
func TestTooManyPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	var open []*websocket.Conn
	for range 16 {
		conn, _, err := w.dial(within(t), "", w.token())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		if _, _, err := conn.Read(within(t)); err != nil { // it has a place by now
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	p := w.browse(800, 600)
	p.until(`document.getElementById("shut").innerText.includes("16 pages of this dashboard are open already")`)
	p.shoot("too-many")
	open[0].CloseNow()
	p.until(`document.getElementById("shut").hidden && document.querySelector(".card")`)
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
	page, _, err := w.dial(within(t), "", w.token())
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
