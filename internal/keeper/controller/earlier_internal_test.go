package controller

import (
	"path/filepath"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/testkit/earlier"
)

// The state and the events that an earlier keeper left are gone on with.
func TestEarlierKeeper(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper")
	s, err := openState(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	if m := s.agent("tree"); m.Order != "stop" || *m.ExitCode != 130 || len(s.names()) != 6 {
		t.Errorf("%+v of %v", m, s.names())
	}
	j, err := openEvents(filepath.Join(dir, "events.jsonl"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	j.append(keeper.Event{Type: "more"})
	var seqs []uint64
	if _, err := j.since(&cursor{}, func(e keeper.Event) error { seqs = append(seqs, e.Seq); return nil }); err != nil || len(seqs) != 61 || seqs[60] != 61 {
		t.Errorf("%v, %v", seqs, err)
	}
}
