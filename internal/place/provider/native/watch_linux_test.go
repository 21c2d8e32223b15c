package native_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/testkit/providertest"
)

// TestWatchMany: many ends at once, with starts that fail among them, while
// nobody receives; each is told once.
func TestWatchMany(t *testing.T) {
	p := newProvider(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, err := providertest.WatchEnds(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var want []string
	var starts sync.WaitGroup
	for i := range 30 {
		name := fmt.Sprintf("w-%02d", i)
		want = append(want, name)
		starts.Go(func() {
			if p.Start(ctx, name, provider.Config{Argv: []string{"/no/such/program"}, WorkDir: dir}) == nil {
				t.Errorf("Start of what cannot be executed: no error")
			}
			if err := p.Start(ctx, name, provider.Config{Argv: []string{"/bin/true"}, WorkDir: dir}); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	var got []string
	for range want {
		select {
		case name := <-told:
			got = append(got, name)
		case <-time.After(patience):
			t.Fatalf("told of %d ends of %d", len(got), len(want))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("told of %q", got)
	}
	cancel()
	if name, open := <-told; open {
		t.Errorf("told of %q twice", name)
	}
}

// TestWatchLeaks: a watch leaves nothing behind.
func TestWatchLeaks(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "cat")
	once := func() {
		ctx, cancel := context.WithCancel(t.Context())
		told, err := providertest.WatchEnds(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		for range told {
			t.Error("told of an end; there was none")
		}
	}
	count := func() int {
		fds, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds) + runtime.NumGoroutine()
	}
	once()
	before := count()
	for range 20 {
		once()
	}
	eventually(t, "goroutines and descriptors are gone", func() bool { return count() <= before })
}

// TestWatchGone: a Home that can no longer be asked ends the watch.
func TestWatchGone(t *testing.T) {
	p := newProvider(t)
	start(t, p, "w", "cat")
	told, err := providertest.WatchEnds(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	away := p.Home.Path + ".away"
	if err := os.Rename(p.Home.Path, away); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Rename(away, p.Home.Path); err != nil {
			t.Error(err)
		}
	}()
	// Something happens there, and cannot be looked at.
	ids, err := filepath.Glob(filepath.Join(away, "sessions", "*", "session.json"))
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	if err := os.Rename(ids[0], ids[0]+".x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ids[0]+".x", ids[0]); err != nil {
		t.Fatal(err)
	}
	select {
	case name, open := <-told:
		if open {
			t.Errorf("told of %q", name)
		}
	case <-time.After(patience):
		t.Error("the watch goes on")
	}
}
