package container_test

import (
	"testing"

	"den/internal/place/provider/container"
	"den/internal/session/home"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
)

// An engine stops a container by a signal to its first process, which is the
// host, and gives it ten seconds: the record is final, whatever runs there.
func TestStoppedContainerLeavesAFinalRecord(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	rootfs, err := podmantest.BusyboxRoot()
	if err != nil {
		t.Fatal(err)
	}
	const quits = "localhost/den-test-quits:1"
	if err := e.Load(rootfs, quits, "STOPSIGNAL SIGQUIT"); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ image, script string }{
		"an obedient program":               {podmantest.BaseImage, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`},
		"a stubborn program":                {podmantest.BaseImage, `trap '' HUP INT TERM; (setsid sh -c 'trap "" HUP INT TERM; while :; do sleep 1; done' &); echo up; while :; do sleep 1; done`},
		"an image with a signal of its own": {quits, `echo up; sleep 1000`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := opened(t, e, "city")
			session := shell(t, c.script)
			session.Options = container.Spec{Image: c.image, Network: "none"}
			if err := p.Start(t.Context(), "w", session); err != nil {
				t.Fatal(err)
			}
			sees(t, p, "w", "up")
			stopContainer(t, e, containers(t, e, p)[0].ID)
			m := record(t, p)
			if m.Status != home.Destroyed || m.EndedBy != "SIGTERM" || m.Ended.IsZero() {
				t.Errorf("the record says %s, ended by %q at %v", m.Status, m.EndedBy, m.Ended)
			}
			if running, err := p.IsRunning(t.Context(), "w"); err != nil || running {
				t.Errorf("running %v, %v", running, err)
			}
		})
	}
}

// stopContainer stops as "podman stop" does, and returns when it has ended.
func stopContainer(t *testing.T, e *podmantest.Engine, id string) {
	t.Helper()
	if _, err := e.API.ContainerStop(t.Context(), id, client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
}

// record is what is written of the only session in a provider's Home.
func record(t *testing.T, p *container.Provider) *home.Manifest {
	t.Helper()
	all, err := p.Home.All()
	if err != nil || len(all) != 1 {
		t.Fatalf("sessions %v, %v", all, err)
	}
	m, err := all[0].Inspect()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
