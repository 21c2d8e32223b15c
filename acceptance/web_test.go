package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/browser"
	"den/internal/testkit/need"
)

// webDashboard is a running 'den dashboard --web'.
type webDashboard struct {
	cmd  *exec.Cmd
	line string // what it printed
}

// serveWeb starts it and waits for its address.
func (w *world) serveWeb(args ...string) *webDashboard {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(filepath.Dir(w.den), "dend")); err != nil {
		w.t.Fatal(err)
	}
	d := &webDashboard{cmd: exec.Command(w.den, append([]string{"dashboard", "--web"}, args...)...)}
	d.cmd.Env, d.cmd.Dir = w.env, w.t.TempDir()
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.cmd.Process.Kill()
			d.cmd.Wait() // It was killed: that is no news.
		}
	})
	if d.line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		w.t.Fatalf("no address: %v", err)
	}
	return d
}

// A page that is served by one process is got by another, with the token only,
// and the server ends when it is told to.
func TestWebDashboard(t *testing.T) {
	w := newWorld(t)
	w.do("new", "work", "cat")
	d := w.serveWeb()
	address := strings.TrimSpace(d.line)
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(address, "/#token=") {
		t.Fatalf("it printed %q", d.line)
	}
	c := &http.Client{Timeout: time.Minute}
	defer c.CloseIdleConnections()
	root, token, _ := strings.Cut(address, "#token=")
	for _, test := range []struct {
		path, token string
		want        int
	}{{"", "", http.StatusOK}, {"live", "", http.StatusUnauthorized}, {"live", token, http.StatusUpgradeRequired}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, root+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+test.token)
		r, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != test.want {
			t.Errorf("%s, %v\n%.200s", r.Status, err, body)
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if out := w.do("ls"); !strings.Contains(out, "work") {
		t.Errorf("the dashboard took the session with it: %s", out)
	}
}

func TestWebDashboardTakesAnAddress(t *testing.T) {
	w := newWorld(t)
	d := w.serveWeb("-j", "localhost:0")
	var said struct{ URL string }
	if err := json.Unmarshal([]byte(d.line), &said); err != nil || !strings.Contains(said.URL, "token=") {
		t.Fatalf("it printed %q: %v", d.line, err)
	}
	if _, stderr, code := w.try("dashboard", "--web", "nowhere"); code != 2 || !strings.Contains(stderr, "HOST:PORT") {
		t.Errorf("a bad address: exit %d\n%s", code, stderr)
	}
}

// The whole way: a program prints, and a person's browser shows it.
func TestWebDashboardInABrowser(t *testing.T) {
	if _, err := browser.Path(); err != nil {
		need.Missing(t, "%v", err)
	}
	w := newWorld(t)
	w.do("new", "work", "bash")
	d := w.serveWeb()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := browser.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Errorf("end the browser: %v", err)
		}
	}()
	p, err := b.Open(ctx, strings.TrimSpace(d.line), 1200, 800)
	if err != nil {
		t.Fatal(err)
	}
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	step(p.Until(ctx, `document.querySelector(".card b")?.textContent === "work"`))
	step(p.Press(ctx, "ArrowDown"))
	step(p.Press(ctx, "Enter"))
	w.do("run", "work", "echo $((6 * 7)) is the answer")
	step(p.Until(ctx, `document.getElementById("text").innerText.includes("42 is the answer")`))
	step(p.Until(ctx, `/exit 0/.test(document.getElementById("cells").innerText)`))
}
