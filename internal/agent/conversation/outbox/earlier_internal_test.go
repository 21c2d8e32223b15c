package outbox

import (
	"path/filepath"
	"testing"
	"time"

	"den/internal/testkit/earlier"
)

// The ids of past messages that an earlier build kept are known.
func TestEarlierPast(t *testing.T) {
	dir := filepath.Join(earlier.Files(t), "keeper", "nudges", "echo")
	p, err := openPast(dir, at(t))
	if err != nil {
		t.Fatal(err)
	}
	one, known := p.find("n-2", at(t))
	if !known || one.Status != "answered" || one.Text != hashText("n 2") || len(p.known) < 15 {
		t.Errorf("%+v, %v, %d of them", one, known, len(p.known))
	}
	if err := p.add(&Message{ID: "more", Key: "k", Text: "t", Updated: at(t)}, at(t)); err != nil {
		t.Fatal(err)
	}
	again, err := openPast(dir, at(t))
	if _, known := again.find("more", at(t)); err != nil || !known || len(again.known) != len(p.known) {
		t.Errorf("%d of %d, %v", len(again.known), len(p.known), err)
	}
}

func at(t *testing.T) time.Time {
	when, err := time.Parse(time.RFC3339, "2026-11-18T21:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return when
}
