package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/keeper"
)

// Who follows the events reads each byte once, over rotations too, and gets
// every event once.
func TestFollowReadsOnlyWhatIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j, err := openEvents(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	j.limit = 64 << 10
	long := strings.Repeat("x", 1<<10)
	var c cursor
	next := uint64(1)
	follow := func() {
		t.Helper()
		if _, err := j.since(&c, func(e keeper.Event) error {
			if e.Seq != next {
				t.Fatalf("event %d after %d", e.Seq, next-1)
			}
			next++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	const events = 250 // of 1 KiB: four files' worth
	written := int64(0)
	for range events {
		j.append(keeper.Event{Type: "t", Why: long})
		written += int64(len(long))
		follow()
	}
	if next != events+1 {
		t.Errorf("%d events", next-1)
	}
	if limit := written + events*200; c.read > limit {
		t.Errorf("%d bytes read of %d written", c.read, written)
	}
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Errorf("nothing was rotated: %v", err)
	}
	// One that comes late, or has slept over two rotations, reads what is there.
	late := cursor{seq: next - 2}
	got := 0
	if _, err := j.since(&late, func(keeper.Event) error { got++; return nil }); err != nil || got != 1 {
		t.Errorf("%d events, %v", got, err)
	}
}
