package container_test

import (
	"context"
	"testing"
	"time"

	"den/internal/agent/runner/remote/holder"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/boxed"
	"den/internal/place/provider/container"
	"den/internal/place/provider/native"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
)

// boxedProvider is one of den's own sessions beside containers.
func boxedProvider(t *testing.T, e *podmantest.Engine) (*boxed.Provider, *native.Provider, *container.Provider) {
	t.Helper()
	box := opened(t, e, "city")
	harnesses, err := native.Open(native.Options{Home: box.Home, Owner: "city", Binary: e.Den, Version: "test", Grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := harnesses.Stop(context.Background(), "w"); err != nil {
			t.Error(err)
		}
	})
	return boxed.New(harnesses, box, []string{container.Den, holder.Verb, holder.ModePlace}), harnesses, box
}

// A session with a box runs while both parts do, and ends with both.
func TestBoxed(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p, harnesses, box := boxedProvider(t, e)
	c := shell(t, `echo here; cat`)
	c.Env = map[string]string{"TOKEN": "for-nobody-else"}
	parts := func(wantHarness, wantBox bool) {
		t.Helper()
		harness, err := harnesses.IsRunning(t.Context(), "w")
		there, berr := box.IsRunning(t.Context(), "w")
		both, perr := p.IsRunning(t.Context(), "w")
		if harness != wantHarness || there != wantBox || both != (wantHarness && wantBox) || err != nil || berr != nil || perr != nil {
			t.Errorf("harness %v, box %v, both %v: %v, %v, %v", harness, there, both, err, berr, perr)
		}
	}
	if err := p.Prepare(t.Context(), "w", c, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	parts(true, true)
	sees(t, p, "w", "here")
	isNowhere(t, e, box, "for-nobody-else") // the box has nothing of the agent's
	if err := p.Start(t.Context(), "w", c); fault.KindOf(err) != fault.Busy {
		t.Errorf("started twice: %v", err)
	}
	if code, err := p.Exec(t.Context(), "w", c, provider.ExecSpec{Argv: []string{"touch", "/tmp/kept"}}); code != 0 || err != nil {
		t.Errorf("exec: %d, %v", code, err)
	}

	// A harness that ends by itself leaves the box to the next one.
	if err := harnesses.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	parts(false, true)
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Exec(t.Context(), "w", c, provider.ExecSpec{Argv: []string{"test", "-e", "/tmp/kept"}}); code != 0 || err != nil {
		t.Errorf("the box is another one: %d, %v", code, err)
	}

	// A box that ends by itself takes the session with it.
	for _, one := range containers(t, e, box) {
		if _, err := e.API.ContainerKill(t.Context(), one.ID, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the session is not running", func() (bool, error) {
		running, err := p.IsRunning(t.Context(), "w")
		return !running, err
	})
	parts(true, false)
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	parts(true, true)

	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	parts(false, false)
	if left := containers(t, e, box); len(left) != 0 {
		t.Errorf("containers are left: %v", left)
	}
	bad := c
	bad.Argv = []string{"/no/such/harness"}
	if err := p.Start(t.Context(), "w", bad); err == nil {
		t.Error("a harness that cannot run was started")
	}
	parts(false, false)
}
