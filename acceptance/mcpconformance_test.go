package acceptance

import (
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"testing"

	"den/internal/testkit/need"
)

// TestMCPConformance runs those of the protocol's own conformance tests that are
// about any server, and not about the tools of an example. 'make test-mcp'
// installs them.
func TestMCPConformance(t *testing.T) {
	program := os.Getenv("DEN_MCP_CONFORMANCE")
	if program == "" {
		need.Apart(t, "the conformance tests are not installed: 'make test-mcp' installs and uses them")
	}
	w := newWorld(t)
	at, token := w.serveMCP(t)
	front := withoutBearer(t, at, token)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams", "dns-rebinding-protection"} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "server", "--url", front, "--scenario", scenario)
			cmd.Dir, cmd.Env = t.TempDir(), w.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// withoutBearer is a way to a server for programs that have no token. Names in
// Host and Origin that are not its own go through: the server guards itself.
func withoutBearer(t *testing.T, at, token string) string {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	own := ""
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
		if _, port, err := net.SplitHostPort(r.In.Host); err == nil && port == own {
			r.Out.Host = r.In.Host[:len(r.In.Host)-len(port)] + to.Port()
		}
		if origin, err := url.Parse(r.In.Header.Get("Origin")); err == nil && origin.Port() == own {
			r.Out.Header.Set("Origin", "http://"+origin.Hostname()+":"+to.Port())
		}
	}})
	t.Cleanup(front.Close)
	_, own, err = net.SplitHostPort(front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "http", Host: front.Listener.Addr().String(), Path: to.Path}).String()
}
