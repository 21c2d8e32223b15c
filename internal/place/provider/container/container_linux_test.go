package container_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/session/home"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
)

// opened is a provider of its own Home on the shared engine.
func opened(t *testing.T, e *podmantest.Engine, owner string) *container.Provider {
	t.Helper()
	// A new one, also where a test runs again: a Home keeps the records of
	// sessions that are over.
	root, err := os.MkdirTemp(e.Dir, "home-"+strings.ReplaceAll(t.Name(), "/", "_")+"-")
	if err != nil {
		t.Fatal(err)
	}
	return openedAt(t, e, owner, root)
}

func openedAt(t *testing.T, e *podmantest.Engine, owner, root string) *container.Provider {
	t.Helper()
	p, err := container.Open(container.Options{
		Home: home.Home{Path: root, Explicit: true}, Owner: owner, Binary: e.Den, Version: "test",
		Grace: 300 * time.Millisecond, Engine: "unix://" + e.Socket, Getenv: os.Getenv,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		names, err := p.ListRunning(ctx, "")
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if err := p.Stop(ctx, name); err != nil {
				t.Error(err)
			}
		}
		if _, err := p.Prune(ctx, 0); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// shell is a session with a shell command in the base image.
func shell(t *testing.T, script string) provider.Config {
	t.Helper()
	return provider.Config{
		Argv: []string{"sh", "-c", script}, WorkDir: t.TempDir(),
		Options: container.Spec{Image: podmantest.BaseImage, Network: "none"},
	}
}

// until polls a condition.
func until(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := poll.Until(ctx, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func sees(t *testing.T, p provider.Provider, name, text string) {
	t.Helper()
	var last string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last seen of %s: %q", name, last)
		}
	})
	until(t, name+" shows "+text, func() (bool, error) {
		var err error
		last, err = p.Peek(t.Context(), name, 0)
		return strings.Contains(last, text), err
	})
}

func ended(t *testing.T, p provider.Provider, name string) {
	t.Helper()
	until(t, name+" has ended", func() (bool, error) {
		running, err := p.IsRunning(t.Context(), name)
		return !running, err
	})
}

func TestSessionInAContainer(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	c := shell(t, `echo "in $PWD as $(cat /proc/1/cmdline | tr '\0' ' ')"; echo "${#TOKEN} secret characters"; read line; echo "got $line"; exit 7`)
	c.Env = map[string]string{"TOKEN": "for-nobody-else"}
	if err := p.Start(t.Context(), "w-1", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "w-1", "in "+c.WorkDir+" as /.den/den host")
	sees(t, p, "w-1", "15 secret characters")
	isNowhere(t, e, p, c.Env["TOKEN"])
	if err := p.AwaitReady(t.Context(), "w-1"); err != nil {
		t.Fatal(err)
	}
	if err := p.Nudge(t.Context(), "w-1", "hello"); err != nil {
		t.Fatal(err)
	}
	ended(t, p, "w-1")
	sees(t, p, "w-1", "got hello")
	if e, err := p.Exit(t.Context(), "w-1"); err != nil || e.Code != 7 || e.Signal != "" {
		t.Fatalf("%+v, %v", e, err)
	}
}

// isNowhere looks for a secret where it would outlive its session: with the
// engine, and in the files of the Home.
func isNowhere(t *testing.T, e *podmantest.Engine, p *container.Provider, secret string) {
	t.Helper()
	for _, c := range containers(t, e, p) {
		inspected, err := e.API.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil || strings.Contains(string(inspected.Raw), secret) || len(inspected.Raw) == 0 {
			t.Errorf("the engine tells the secret: %s, %v", inspected.Raw, err)
		}
	}
	err := filepath.WalkDir(p.Home.Path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if content, err := os.ReadFile(path); err != nil || strings.Contains(string(content), secret) {
			t.Errorf("%s holds the secret, %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
