package tmux

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/testkit/need"
)

// A server that is started anew gives its panes and sessions the ids of those
// before: what was meant for one must not come to the other.
func TestIDsOfTheNextServer(t *testing.T) {
	t.Parallel()
	need.Program(t, "tmux")
	dir, err := os.MkdirTemp("", "den-tmux-") // a test's own is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // Best effort.
	p, err := Open(Options{Socket: filepath.Join(dir, "s"), Owner: "o"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() // Best effort: nothing is kept.
	kill := func() error { return exec.Command("tmux", "-S", p.socket, "kill-server").Run() }
	defer kill() // Best effort: it may be gone.
	start := func(name string) *pane {
		t.Helper()
		if err := p.Start(t.Context(), name, provider.Config{Argv: []string{"cat"}, WorkDir: dir}); err != nil {
			t.Fatal(err)
		}
		one, err := p.running(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	first := start("first")
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	next := start("next")
	if first.id != next.id {
		t.Fatalf("the panes are %s and %s: this test needs the same", first.id, next.id)
	}
	if err := p.write(t.Context(), "first", first, "for the first", false); fault.KindOf(err) != fault.NotFound {
		t.Errorf("write = %v (kind %q), want not_found", err, fault.KindOf(err))
	}
	if err := p.remove(t.Context(), "first", first); err != nil {
		t.Errorf("remove = %v, want nil: it has gone", err)
	}
	if lines, err := p.capture(t.Context(), "first", first, "-"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("capture = %q, %v, want not_found", lines, err)
	}
	if err := p.write(t.Context(), "next", next, "for the next\r", false); err != nil {
		t.Fatal(err)
	}
	const want = "for the next\nfor the next" // its echo, and what cat wrote
	var text string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = poll.Until(ctx, func() (done bool, err error) {
		text, err = p.Peek(ctx, "next", 0)
		return len(text) >= len(want), err
	})
	if err != nil || text != want {
		t.Errorf("it got %q, %v; want %q", text, err, want)
	}
}
