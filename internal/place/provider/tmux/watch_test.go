package tmux_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"den/internal/place/provider"
)

// told collects the names in so many events of a kind.
func told(t *testing.T, events <-chan provider.Event, change provider.Change, n int) []string {
	t.Helper()
	var names []string
	for timeout := time.After(limit); len(names) < n; {
		select {
		case e, open := <-events:
			if !open {
				t.Fatalf("the watch is over, told of %q, not of %d", names, n)
			}
			if e.Change == change {
				names = append(names, e.Name)
			}
		case <-timeout:
			t.Fatalf("told of %q, not of %d", names, n)
		}
	}
	slices.Sort(names)
	return names
}

// Every end is told once, to every watcher, also where a session is gone
// before anybody could look, and where the server was killed.
func TestWatchersHearEveryEnd(t *testing.T) {
	t.Parallel()
	needTmux(t)
	socket := newSocket(t)
	p, other := open(t, socket, "o"), open(t, socket, "o")
	stranger := open(t, socket, "stranger")
	ctx, cancel := context.WithCancel(t.Context())
	var all []<-chan provider.Event
	for _, w := range []place{p, other} {
		events, err := w.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events)
	}
	start(t, stranger, "not-ours", "true")
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("w%02d", i)
		start(t, p, name, "true")
		if err := p.Stop(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	for _, events := range all {
		if got := told(t, events, provider.Ended, len(want)); !slices.Equal(got, want) {
			t.Errorf("told of %q, want %q", got, want)
		}
	}
	start(t, p, "a", "sleep", "1000")
	start(t, p, "b", "sleep", "1000")
	for _, events := range all { // of one that nobody knew of, a killed server leaves no trace
		if got := told(t, events, provider.Started, 2); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("of those that run told of %q", got)
		}
	}
	mustRaw(t, socket, "kill-session", "-t", "=o/a") // by a person
	mustRaw(t, socket, "kill-server")
	for _, events := range all {
		if got := told(t, events, provider.Ended, 2); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("of a killed server told of %q", got)
		}
	}
	start(t, p, "again", "true")
	for _, events := range all {
		if got := told(t, events, provider.Ended, 1); got[0] != "again" {
			t.Errorf("after the server came back told of %q", got)
		}
	}
	cancel()
	for _, events := range all {
		for e := range events {
			t.Errorf("told of %v at the end", e)
		}
	}
}

// A person's other panes in the session do not count.
func TestOtherPanesDoNotCount(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start(t, p, "w", "sleep", "1000")
	mustRaw(t, p.socket, "split-window", "-t", "=o/w:", "true")
	mustRaw(t, p.socket, "new-window", "-t", "=o/w:", "sleep", "1000")
	if !isRunning(t, p, "w") {
		t.Error("the end of another pane ended the session")
	}
	mustRaw(t, p.socket, "kill-pane", "-t", mustRaw(t, p.socket, "show-options", "-v", "-t", "=o/w:", "@den-pane"))
	eventually(t, "the command has ended", func() bool { return !isRunning(t, p, "w") })
	if got := told(t, events, provider.Ended, 1); got[0] != "w" {
		t.Errorf("told of %q", got)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
}
