package container_test

import (
	"bufio"
	"context"
	"testing"

	"den/internal/agent/runner"
	"den/internal/agent/runner/remote"
	"den/internal/agent/runner/remote/holder"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/testkit/podmantest"
	"den/internal/testkit/spawntest"
)

// openBox starts a container in which nothing runs, and returns a spawner for
// it.
func openBox(t *testing.T, p *container.Provider) (spawner func(mark string) remote.Spawner, c provider.Config) {
	t.Helper()
	c = shell(t, "")
	c.Argv = []string{container.Den, holder.Verb, holder.ModePlace}
	if err := p.Start(t.Context(), "box", c); err != nil {
		t.Fatal(err)
	}
	return func(mark string) remote.Spawner {
		return remote.Spawner{
			Exec: func(ctx context.Context, e provider.ExecSpec) (int, error) {
				return p.Exec(ctx, "box", provider.Config{WorkDir: c.WorkDir}, e)
			},
			Den: container.Den, Mark: mark,
		}
	}, c
}

// Processes that are spawned in a container behave as those of this machine.
func TestSpawnConformance(t *testing.T) {
	p := opened(t, podmantest.Shared(t), "city")
	spawner, c := openBox(t, p)
	spawntest.Run(t, spawntest.Place{
		Spawner:      func(t *testing.T) runner.Spawner { return spawner(t.Name()) },
		Dir:          c.WorkDir,
		CommandLines: spawntest.OfThisMachine,
	})
}

// Variables of what is spawned are with nobody but the process: not with the
// engine, nor in the Home.
func TestSpawnKeepsSecrets(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	spawner, _ := openBox(t, p)
	s := spawner("m")
	s.Env = map[string]string{"TOKEN": "for-nobody-else"}
	process, err := s.Spawn(t.Context(), runner.Command{Argv: []string{"sh", "-c", `echo ${#TOKEN}; cat`}})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(process.Stdout()).ReadString('\n'); line != "15\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	isNowhere(t, e, p, "for-nobody-else")
	if n, err := spawner("other").Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("another agent's: %d, %v", n, err)
	}
	if n, err := s.Clean(t.Context()); n == 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if exit := process.Wait(); exit.Code != 137 {
		t.Errorf("%+v", exit)
	}
}

// With its container a process ends, and who waits for it learns of it.
func TestSpawnedEndsWithItsContainer(t *testing.T) {
	t.Parallel()
	p := opened(t, podmantest.Shared(t), "city")
	spawner, _ := openBox(t, p)
	process, err := spawner("m").Spawn(t.Context(), runner.Command{Argv: []string{"sh", "-c", `echo up; exec sleep 1000`}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(process.Stdout()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	if exit := process.Wait(); exit.Code == 0 {
		t.Errorf("%+v", exit)
	}
	if _, err := spawner("m").Spawn(t.Context(), runner.Command{Argv: []string{"true"}}); err == nil {
		t.Error("a process was started in a container that is gone")
	}
}
