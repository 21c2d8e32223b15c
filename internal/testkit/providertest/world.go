package providertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
)

// world is one subtest: a provider at a place of its own, and a directory that
// sessions share with the test.
type world struct {
	*testing.T
	h      Harness
	p      provider.Provider
	helper string
	dir    string
	begun  int // how many sessions were started, for the names of their files
	mu     sync.Mutex
}

func newWorld(t *testing.T, h Harness, helper string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, h: h, helper: helper, dir: dir}
	w.p = w.opened(h.New(t))
	return w
}

// opened sees to it that what runs there is stopped at the end.
func (w *world) opened(p provider.Provider) provider.Provider {
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), w.h.Patience)
		defer cancel()
		left, err := p.ListRunning(ctx, "")
		if err != nil {
			w.Errorf("clean up: %v", err)
		}
		var stops sync.WaitGroup
		for _, name := range left {
			stops.Go(func() {
				if err := p.Stop(ctx, name); err != nil {
					w.Errorf("clean up: %v", err)
				}
			})
		}
		stops.Wait()
	})
	return p
}

func (w *world) lacks(ability string) bool { return slices.Contains(w.h.Unsupported, ability) }

// needs ends the test where the provider has not what it is about. That it
// says so itself is another test's.
func (w *world) needs(abilities ...string) {
	w.Helper()
	for _, a := range abilities {
		if w.lacks(a) {
			need.Apart(w, "the provider has no %s, and says so; nothing to try here", a)
		}
	}
}

// able is the provider as one that has an ability of its choice. Without it there
// is nothing to try, and without says why.
func able[T any](w *world, without string) T {
	w.Helper()
	p, ok := w.p.(T)
	if !ok {
		need.Apart(w, "the provider %s", without)
	}
	return p
}

// config is a session that runs the helper; ready is the file by which that
// says that it has begun.
func (w *world) config(mode string, args ...string) (c provider.Config, ready string) {
	w.mu.Lock()
	w.begun++
	ready = w.path("ready-" + strconv.Itoa(w.begun))
	w.mu.Unlock()
	return w.command(append([]string{w.helper, mode, ready}, args...)...), ready
}

// command is a session that runs argv in the shared directory.
func (w *world) command(argv ...string) provider.Config {
	c := w.h.Base
	c.Argv, c.WorkDir = argv, w.dir
	if w.h.Share != nil {
		w.h.Share(&c, w.dir, filepath.Dir(w.helper))
	}
	return c
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// start starts the helper and waits until it has begun.
func (w *world) start(name, mode string, args ...string) {
	w.Helper()
	w.startOn(w.p, name, mode, args...)
}

func (w *world) startOn(p provider.Provider, name, mode string, args ...string) {
	w.Helper()
	c, ready := w.config(mode, args...)
	w.startConfig(p, name, c)
	w.appears(ready)
}

func (w *world) startConfig(p provider.Provider, name string, c provider.Config) {
	w.Helper()
	if err := p.Start(w.Context(), name, c); err != nil {
		w.Fatalf("Start(%q): %v", name, err)
	}
}

// appears waits for a file and returns what is in it.
func (w *world) appears(path string) string {
	w.Helper()
	var raw []byte
	w.eventually(filepath.Base(path)+" appears", func() bool {
		var err error
		raw, err = os.ReadFile(path)
		return err == nil
	})
	return string(raw)
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.h.Patience)
	defer cancel()
	if err := poll.Every(ctx, longestPause, func() (bool, error) { return holds(), nil }); err != nil {
		w.Fatalf("%s: not within %v", what, w.h.Patience)
	}
}

// longestPause is that between two questions: each is work for a place.
const longestPause = 20 * time.Millisecond

// program writes a file that is to be executed. Nothing is forked meanwhile: a
// child that has not begun its own program yet would hold it open, and what is
// written to cannot be executed.
func (w *world) program(path, text string) {
	w.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	w.ok("write program", os.WriteFile(path, []byte(text), 0o755))
}

func (w *world) running(p provider.Provider, name string) bool {
	w.Helper()
	running, err := p.IsRunning(w.Context(), name)
	if err != nil {
		w.Fatalf("IsRunning(%q): %v", name, err)
	}
	return running
}

// ends waits until a session's command has ended.
func (w *world) ends(name string) {
	w.Helper()
	w.eventually(name+" ends", func() bool { return !w.running(w.p, name) })
}

func (w *world) stop(name string) {
	w.Helper()
	if err := w.p.Stop(w.Context(), name); err != nil {
		w.Fatalf("Stop(%q): %v", name, err)
	}
}

// lists compares what runs at a provider with what should.
func (w *world) lists(what string, p provider.Provider, prefix string, want ...string) {
	w.Helper()
	if got := w.list(p, prefix); !slices.Equal(got, want) {
		w.Errorf("%s: %q run, want %q", what, got, want)
	}
}

func (w *world) list(p provider.Provider, prefix string) []string {
	w.Helper()
	names, err := p.ListRunning(w.Context(), prefix)
	if err != nil {
		w.Fatalf("ListRunning(%q): %v", prefix, err)
	}
	return names
}

// ok fails the test on an error.
func (w *world) ok(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// fails wants an error, of whatever kind.
func (w *world) fails(what string, err error) {
	w.Helper()
	if err == nil {
		w.Errorf("%s: no error", what)
	}
}

// is checks an error's kind.
func (w *world) is(what string, err error, kinds ...fault.Kind) {
	w.Helper()
	if !slices.Contains(kinds, fault.KindOf(err)) {
		w.Errorf("%s = %v (kind %q), want one of kind %q", what, err, fault.KindOf(err), kinds)
	}
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s = %#v, want %#v", what, got, want)
	}
}

// received waits for what a channel gives.
func received[T any](w *world, what string, from <-chan T) (got T) {
	w.Helper()
	select {
	case got = <-from:
	case <-time.After(w.h.Patience):
		w.Fatalf("%s: not within %v", what, w.h.Patience)
	}
	return got
}

// lives reports whether a process of the helper's tree holds its lock.
func (w *world) lives(dir, role string) bool {
	w.Helper()
	f, err := os.OpenFile(filepath.Join(dir, role), os.O_RDWR, 0)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		w.Fatal(err)
	}
	return err != nil
}
