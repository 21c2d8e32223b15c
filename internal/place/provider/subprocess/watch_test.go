package subprocess_test

import (
	"context"
	"den/internal/testkit/providertest"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"
)

func (b *bench) watch() (<-chan string, context.CancelFunc) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	names, err := providertest.WatchEnds(ctx, b)
	b.ok(err)
	return names, cancel
}

func (b *bench) next(names <-chan string) string {
	b.Helper()
	select {
	case name := <-names:
		return name
	case <-time.After(patience):
		b.Fatal("no end was told")
		return ""
	}
}

func TestWatch(t *testing.T) {
	b := newBench(t)
	b.shell("before", "exit 0")
	b.ends("before")
	b.ok(b.Stop(t.Context(), "before")) // waits for its shim
	b.start("killed", "sleep", "1000")
	b.start("stopped", "sleep", "1000")
	b.start("stays", "sleep", "1000")
	names, cancel := b.watch()

	b.ok(syscall.Kill(b.shimPID("killed"), syscall.SIGKILL))
	if got := b.next(names); got != "killed" {
		t.Errorf("told %q, want killed", got)
	}
	b.ok(b.Stop(t.Context(), "stopped"))
	if got := b.next(names); got != "stopped" {
		t.Errorf("told %q, want stopped", got)
	}
	other := b.open() // as another process would
	b.ok(other.Start(t.Context(), "later/ö", b.config("false")))
	if got := b.next(names); got != "later/ö" {
		t.Errorf("told %q, want later/ö", got)
	}
	// These are no ends.
	if err := b.Start(t.Context(), "stays", b.config("sleep", "1")); err == nil {
		t.Error("a second start of one name")
	}
	if err := b.Start(t.Context(), "fails", b.config("/no/such")); err == nil {
		t.Error("a start of nothing")
	}
	b.shell("before", "exit 0")
	if got := b.next(names); got != "before" {
		t.Errorf("told %q, want before", got)
	}
	cancel()
	b.eventually("the channel is closed", func() bool {
		select {
		case name, open := <-names:
			if open {
				t.Errorf("told %q", name)
			}
			return !open
		default:
			return false
		}
	})
}

// A receiver that is slow gets every name once.
func TestWatchOfASlowReceiver(t *testing.T) {
	b := newBench(t)
	names, _ := b.watch()
	want := map[string]bool{}
	for range 3 { // three lives each
		for i := range 8 {
			name := fmt.Sprintf("w-%d", i)
			want[name] = true
			b.shell(name, "exit 1")
		}
		for name := range want {
			b.ends(name)
			b.ok(b.Stop(t.Context(), name))
		}
	}
	got := map[string]bool{}
	for range len(want) {
		got[b.next(names)] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("told %v", slices.Sorted(maps.Keys(got)))
	}
}
