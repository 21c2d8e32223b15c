package outbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/agent/conversation"
)

// Ids are bounded by number and by time, in memory and on disk.
func TestPastIsBounded(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	p, err := openPast(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	last := 2*pastKept + 10
	for i := range last + 1 {
		at := now.Add(time.Duration(i) * time.Millisecond)
		if err := p.add(&Message{ID: fmt.Sprint("id-", i), Text: "x", Status: conversation.Sent, Updated: at}, at); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, pastFile))
	if lines := bytes.Count(data, []byte("\n")); err != nil || lines > 2*pastKept || lines < pastKept {
		t.Errorf("%d lines, %v", lines, err)
	}
	again, err := openPast(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]pastIDs{"as they came": p, "read again": again} {
		for i, want := range map[int]bool{last: true, last - pastKept + 1: true, last - pastKept: false, 0: false} {
			if _, ok := p.find(fmt.Sprint("id-", i), now); ok != want {
				t.Errorf("%s, id %d of %d: %v", name, i, last, ok)
			}
		}
		if _, ok := p.find(fmt.Sprint("id-", last), now.Add(pastFor+time.Minute)); ok {
			t.Errorf("%s: an id is known for ever", name)
		}
	}
	if late, err := openPast(dir, now.Add(pastFor+time.Minute)); err != nil || len(late.known) > 0 {
		t.Errorf("%d are known a day later, %v", len(late.known), err)
	}
}

// Half a line, of a process that was killed, hides no other.
func TestPastWithHalfALine(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	p, err := openPast(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := p.add(&Message{ID: id, Text: "x", Status: conversation.Sent, Updated: now}, now); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, pastFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, pastFile), info.Size()-5); err != nil {
		t.Fatal(err)
	}
	if p, err = openPast(dir, now); err != nil {
		t.Fatal(err)
	}
	if err := p.add(&Message{ID: "c", Text: "x", Status: conversation.Sent, Updated: now}, now); err != nil {
		t.Fatal(err)
	}
	if p, err = openPast(dir, now); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := p.find(id, now); ok != want {
			t.Errorf("%s: %v", id, ok)
		}
	}
}
