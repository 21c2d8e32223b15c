package container_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/place/provider/container"
	"den/internal/place/workspace"
	"den/internal/testkit/podmantest"
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
	engine, behind := proxyTo(e), *e
	behind.Socket = serveEngine(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/build") || builds.Add(1) > 2 {
			engine.ServeHTTP(w, r)
			return
		}
		io.Copy(io.Discard, r.Body) // Best effort: the answer counts.
		io.WriteString(w, said)
	}))
	p := opened(t, &behind, "city")
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
