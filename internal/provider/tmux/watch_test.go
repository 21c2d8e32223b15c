package tmux_test

import (
	"context"
	"den/internal/provider/providertest"
	"fmt"
	"slices"
	"testing"
	"time"
)

// told collects so many names from a watcher.
func told(t *testing.T, ended <-chan string, n int) []string {
	t.Helper()
	var names []string
	for range n {
		select {
		case name := <-ended:
			names = append(names, name)
		case <-time.After(limit):
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
	var all []<-chan string
	for _, w := range []place{p, other} {
		ended, err := providertest.WatchEnds(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ended)
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
	for _, ended := range all {
		if got := told(t, ended, len(want)); !slices.Equal(got, want) {
			t.Errorf("told of %q, want %q", got, want)
		}
	}
	start(t, p, "a", "sleep", "1000")
	start(t, p, "b", "sleep", "1000")
	mustRaw(t, socket, "kill-session", "-t", "=o/a") // by a person
	mustRaw(t, socket, "kill-server")
	for _, ended := range all {
		if got := told(t, ended, 2); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("of a killed server told of %q", got)
		}
	}
	start(t, p, "again", "true")
	for _, ended := range all {
		if got := told(t, ended, 1); got[0] != "again" {
			t.Errorf("after the server came back told of %q", got)
		}
	}
	cancel()
	for _, ended := range all {
		if name, open := <-ended; open {
			t.Errorf("told of %q, which did not end", name)
		}
	}
}

// A person's other panes in the session do not count.
func TestOtherPanesDoNotCount(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	ended, err := providertest.WatchEnds(t.Context(), p)
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
	if got := told(t, ended, 1); got[0] != "w" {
		t.Errorf("told of %q", got)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
}
