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

// A build that podman gives up because of what others removed begins anew,
// whatever podman did when it noticed.
func TestBuildThatOthersDisturb(t *testing.T) {
	t.Parallel()
	said := []string{
		"checking if cached image exists from a previous build: getting top layer info: layer not known",
		"identifier is not a container: preparing container for next step: creating build container: 670260d396a3: image not known",
	}
	e := podmantest.Shared(t)
	var builds atomic.Int32
	engine, behind := proxyTo(e), *e
	behind.Socket = serveEngine(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/build") {
			engine.ServeHTTP(w, r)
			return
		}
		n := int(builds.Add(1))
		if n > len(said) {
			engine.ServeHTTP(w, r)
			return
		}
		io.Copy(io.Discard, r.Body) // Best effort: the answer counts.
		fmt.Fprintf(w, "{\"stream\":\"STEP 1/4\\n\"}\n{\"errorDetail\":{\"message\":%q},\"error\":%[1]q}\n", said[n-1])
	}))
	p := opened(t, &behind, "city")
	dir := contextOf(t, map[string]string{"Containerfile": "FROM " + podmantest.BaseImage + "\nCOPY word /word\n", "word": "disturbed"})
	c := shell(t, "cat /word; sleep 1000")
	c.Options = container.Spec{Context: workspace.Path(dir), Network: "none"}
	if err := p.Start(t.Context(), "a", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "a", "disturbed")
	if n := int(builds.Load()); n != len(said)+1 {
		t.Errorf("%d builds, want %d", n, len(said)+1)
	}
}
