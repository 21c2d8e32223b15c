package harness

import (
	"fmt"
	"path/filepath"
	"testing"

	"den/internal/testkit/earlier"
)

// What the harness of an earlier build stored is read.
func TestEarlierHarness(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper", "minds")
	b, err := openBuffer(filepath.Join(dir, "echo", "messages"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if last, ok := b.newest("#general"); !ok || last.Seq != 2 || last.Nick != "coder" {
		t.Errorf("%+v, %v", last, ok)
	}
	if lines, _, err := b.read("#general", "me", 0); len(lines) > 0 || err != nil {
		t.Errorf("%v was read before, %v", lines, err)
	}
	if lines, _, err := b.read("#general", "another", 0); len(lines) != 2 || err != nil {
		t.Errorf("%v, %v", lines, err)
	}
	p, err := openChannels(filepath.Join(dir, "coder", "places.json"))
	if err != nil || fmt.Sprint(p.withJoined(nil)) != "[#more]" {
		t.Errorf("%v, %v", p, err)
	}
	w, err := openWorkload(filepath.Join(dir, "coder", "work.json"))
	if err != nil || w.current().Turns != 5 {
		t.Errorf("%v, %v", w, err)
	}
	h := &Harness{stateDir: filepath.Join(dir, "coder")}
	if first, err := h.firstStart(); err != nil || first.Year() != 2026 {
		t.Errorf("%v, %v", first, err)
	}
}
