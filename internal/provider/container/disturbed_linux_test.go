package container_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/provider/container"
	"den/internal/provider/container/podmantest"
	"den/internal/workspace"
)

// Owners that build and remove images of the same files at the same time do not
// disturb each other, and leave nothing.
func TestOwnersBuildAndPruneSideBySide(t *testing.T) {
	t.Parallel()
	e := podmantest.Own(t)
	var owners sync.WaitGroup
	for owner := range 4 {
		p := opened(t, e, fmt.Sprint("city", owner))
		dir := contextOf(t, map[string]string{"Containerfile": "FROM " + podmantest.BaseImage + "\nCOPY word /word\n", "word": "first"})
		c := shell(t, "true")
		c.Options = container.Spec{Context: workspace.Path(dir), Network: "none"}
		owners.Go(func() {
			for round := range 3 {
				for _, word := range []string{"first", "second"} {
					write(t, dir, map[string]string{"word": word})
					if _, err := p.Image(t.Context(), "a", c, nil); err != nil {
						t.Errorf("owner %d, round %d, %s: %v", owner, round, word, err)
					}
				}
				// Images of this second are older than none.
				if done, err := p.Prune(t.Context(), -time.Second); err != nil || done.Images != 2 {
					t.Errorf("owner %d, round %d: pruned %+v, %v, want 2 images", owner, round, done, err)
				}
				if n := images(t, e, p); n != 0 {
					t.Errorf("owner %d, round %d: %d images are left", owner, round, n)
				}
			}
		})
	}
	owners.Wait()
}

// A build that podman gives up because of what others removed begins anew.
func TestBuildThatOthersDisturb(t *testing.T) {
	t.Parallel()
	const said = `{"stream":"STEP 1/4: FROM localhost/den-test-base:1\n"}
{"errorDetail":{"message":"checking if cached image exists from a previous build: getting top layer info: layer not known"},"error":"checking if cached image exists from a previous build: getting top layer info: layer not known"}
`
	e := podmantest.Shared(t)
	var builds atomic.Int32
	p := opened(t, through(t, e, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/build") || builds.Add(1) > 2 {
			return false
		}
		io.Copy(io.Discard, r.Body) // Best effort: the answer counts.
		io.WriteString(w, said)
		return true
	}), "city")
	dir := contextOf(t, map[string]string{"Containerfile": "FROM " + podmantest.BaseImage + "\nCOPY word /word\n", "word": "disturbed"})
	c := shell(t, "cat /word; sleep 1000")
	c.Options = container.Spec{Context: workspace.Path(dir), Network: "none"}
	if err := p.Start(t.Context(), "a", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "a", "disturbed")
	if n := builds.Load(); n != 3 {
		t.Errorf("%d builds, want 3", n)
	}
}

// through is the engine behind a proxy, which does not pass on what answer
// answers.
func through(t *testing.T, e *podmantest.Engine, answer func(http.ResponseWriter, *http.Request) bool) *podmantest.Engine {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of requests that the provider gives up
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", e.Socket)
	}}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	behind := *e
	behind.Socket = socket
	return &behind
}
