package container_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/place/provider/container"
	"den/internal/testkit/podmantest"

	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"den/internal/testkit/providertest"
)

// containers lists those of a provider's Home, of all owners.
func containers(t *testing.T, e *podmantest.Engine, p *container.Provider) []api.Summary {
	t.Helper()
	var list client.ContainerListResult
	err := container.RetryWhileRemoving(context.Background(), func() (err error) {
		list, err = e.API.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "den.home="+p.Home.Path)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func start(t *testing.T, p *container.Provider, name, script string) {
	t.Helper()
	if err := p.Start(t.Context(), name, shell(t, script)); err != nil {
		t.Fatal(err)
	}
}

func TestContainerThatIsGoneDoesNotRun(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	for what, end := range map[string]func(id string) error{
		"removed": func(id string) error { // docker kills it; podman stops it first
			_, err := e.API.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true})
			return err
		},
		"killed": func(id string) error {
			_, err := e.API.ContainerKill(context.Background(), id, client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"stopped": func(id string) error {
			now := 0
			_, err := e.API.ContainerStop(context.Background(), id, client.ContainerStopOptions{Timeout: &now})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := opened(t, e, "city")
			start(t, p, "w", "echo before; sleep 1000")
			sees(t, p, "w", "before")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ends, err := providertest.WatchEnds(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(containers(t, e, p)[0].ID); err != nil {
				t.Fatal(err)
			}
			select {
			case name := <-ends:
				if name != "w" {
					t.Errorf("told of %q", name)
				}
			case <-time.After(2 * time.Minute):
				t.Error("not told of its end")
			}
			if running, err := p.IsRunning(t.Context(), "w"); err != nil || running {
				t.Errorf("running %v, %v", running, err)
			}
			if exit, err := p.Exit(t.Context(), "w"); err != nil || exit == nil || exit.Signal != "SIGKILL" && (what != "removed" || exit.Signal != "SIGHUP") {
				t.Errorf("exit %+v, %v", exit, err)
			}
			sees(t, p, "w", "before")
			start(t, p, "w", "echo after; sleep 1000")
			sees(t, p, "w", "after")
			if n := len(containers(t, e, p)); n != 1 {
				t.Errorf("%d containers", n)
			}
		})
	}
}

func TestEngineThatIsAway(t *testing.T) {
	t.Parallel()
	podmantest.Shared(t) // or a skip
	if os.Getenv("DEN_TEST_ENGINE") != "" {
		need.Apart(t, "the engine is somebody else's, and not ours to end; unset DEN_TEST_ENGINE")
	}
	e, err := podmantest.Start() // its own: it goes away
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	p := opened(t, e, "city")
	start(t, p, "w", "cat")
	e.EndService()
	// The lock is the truth, and needs no engine.
	if running, err := p.IsRunning(t.Context(), "w"); err != nil || !running {
		t.Errorf("running %v, %v", running, err)
	}
	if err := p.Nudge(t.Context(), "w", "still here"); err != nil {
		t.Error(err)
	}
	sees(t, p, "w", "still here")
	if err := p.Start(t.Context(), "new", shell(t, "true")); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("Start = %v, want unreachable", err)
	}
	// Its processes end, but that its container is gone nobody can say.
	if err := p.Stop(t.Context(), "w"); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("Stop = %v, want unreachable", err)
	}
	if running, err := p.IsRunning(t.Context(), "w"); err != nil || running {
		t.Errorf("after Stop: running %v, %v", running, err)
	}
	if err := e.Serve(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Error(err)
	}
	if left := containers(t, e, p); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

func TestStopOfAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	start(t, p, "w", "sleep 1000")
	if _, err := e.API.ContainerPause(t.Context(), containers(t, e, p)[0].ID, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	if running, err := p.IsRunning(t.Context(), "w"); err != nil || !running {
		t.Fatalf("a paused session: running %v, %v", running, err)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if running, err := p.IsRunning(t.Context(), "w"); err != nil || running {
		t.Fatalf("running %v, %v", running, err)
	}
	if left := containers(t, e, p); len(left) > 0 {
		t.Fatalf("left %+v", left)
	}
}

func TestOnlyOurOwnIsTouched(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	other := openedAt(t, e, "village", p.Home.Path)
	foreign := func(name string, labels map[string]string) string {
		t.Helper()
		made, err := e.API.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name:   name,
			Config: &api.Config{Image: podmantest.BaseImage, Cmd: []string{"sleep", "1000"}, Labels: labels},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			e.API.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true})
		})
		return made.ID
	}
	stay := []string{
		foreign("nobodys", nil),
		foreign("of-another-home", map[string]string{"den.owner": "city", "den.home": "/elsewhere", "den.name": "w", "den.session": "x"}),
		foreign("of-a-longer-owner", map[string]string{"den.owner": "city2", "den.home": p.Home.Path, "den.name": "w", "den.session": "x"}),
	}
	// One that a creator left that died half way.
	orphan := foreign("orphan", map[string]string{"den.owner": "city", "den.home": p.Home.Path, "den.name": "w", "den.session": "01m7evknhc3vxd2eccqfmy"})
	start(t, other, "w", "sleep 1000")
	for _, c := range containers(t, e, p) {
		if c.Labels["den.owner"] == "village" {
			stay = append(stay, c.ID)
		}
	}
	start(t, p, "w", "sleep 1000")
	gone := func(id string) bool {
		_, err := e.API.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		return err != nil
	}
	if !gone(orphan) {
		t.Error("the orphan is still there")
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prune(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, id := range stay {
		if gone(id) {
			t.Errorf("%s is gone", id)
		}
	}
	if running, err := other.IsRunning(t.Context(), "w"); err != nil || !running {
		t.Errorf("the other owner's session: %v, %v", running, err)
	}
}

func TestStartThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() { // gives up as soon as there is something to leave
			defer close(watched)
			for ctx.Err() == nil {
				if files, _ := filepath.Glob(filepath.Join(p.Home.Path, "sessions", "*", "host.log")); len(files) > 0 {
					cancel()
				}
				time.Sleep(time.Millisecond) // the start needs the machine, too
			}
		}()
		err := p.Start(ctx, "w", shell(t, "sleep 1000"))
		cancel()
		<-watched
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want cancelled", err)
		}
		if left := containers(t, e, p); len(left) > 0 {
			t.Fatalf("left %+v", left)
		}
		for _, dir := range []string{"sessions", "names"} {
			if left, err := os.ReadDir(filepath.Join(p.Home.Path, dir)); err != nil || slices.ContainsFunc(left, func(f os.DirEntry) bool { return f.Name() != ".lock" }) {
				t.Fatalf("left in %s: %v, %v", dir, left, err)
			}
		}
	}
}

func TestAContainerSeesItsOwnSessionOnly(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	start(t, p, "other", "sleep 1000")
	start(t, p, "w", `echo "$(find "$DEN_HOME" -name session.json | wc -l) records, $(find / -type s 2>/dev/null | wc -l) sockets."; sleep 1000`)
	sees(t, p, "w", "1 records, 1 sockets.")
	out, err := exec.Command(e.Den, "--home", p.Home.Path, "ls", "--json").Output()
	if err != nil || strings.Count(string(out), `"status":"running"`) != 2 {
		t.Errorf("den ls outside: %s, %v", out, err)
	}
}
