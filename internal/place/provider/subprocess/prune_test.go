package subprocess_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
)

// Of ended sessions the newest are kept whole; those that run are not touched,
// and a name that was removed can be used again.
func TestPrune(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		name := fmt.Sprintf("w%d", i)
		b.shell(name, "echo words of "+name)
		b.ends(name)
	}
	b.shell("runs", "exec sleep 1000")
	removed, err := b.Prune(t.Context(), 2)
	if err != nil || removed != 2 {
		t.Fatalf("removed %d, %v", removed, err)
	}
	for name, want := range map[string]bool{"w0": false, "w1": false, "w2": true, "w3": true, "runs": true} {
		_, err := os.Stat(filepath.Join(b.options.Dir, b.options.Owner, "sessions", name))
		if (err == nil) != want {
			t.Errorf("%s is kept: %v", name, err == nil)
		}
	}
	if text, err := b.Peek(t.Context(), "w3", 1); err != nil || text != "words of w3" {
		t.Errorf("the newest: %q, %v", text, err)
	}
	if _, err := b.Peek(t.Context(), "w0", 1); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the oldest: %v", err)
	}
	if running, err := b.IsRunning(t.Context(), "runs"); err != nil || !running {
		t.Errorf("runs: %v, %v", running, err)
	}
	if running, err := b.IsRunning(t.Context(), "w0"); err != nil || running {
		t.Errorf("w0: %v, %v", running, err)
	}
	b.shell("w0", "echo again")
	b.ends("w0")
	if text, err := b.Peek(t.Context(), "w0", 1); err != nil || text != "again" {
		t.Errorf("started anew: %q, %v", text, err)
	}
}
