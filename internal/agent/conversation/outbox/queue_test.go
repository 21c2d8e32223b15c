package outbox_test

import (
	"slices"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
)

// What is urgent goes before what waits, and behind what was begun, also after
// a crash.
func TestUrgentGoesFirst(t *testing.T) {
	dir := t.TempDir()
	q, err := outbox.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"over", "begun", "waits"} {
		if _, err := q.AddRouted(id, "text of "+id, "somewhere"); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"urgent", "urgent-2"} {
		if m, err := q.AddUrgent(id, "text of "+id); err != nil || !m.Urgent {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	change := func(id string, alter func(*outbox.Message)) {
		t.Helper()
		if err := q.Update(id, alter); err != nil {
			t.Fatal(err)
		}
	}
	change("over", func(m *outbox.Message) { m.Status, m.Attempts = conversation.Answered, 1 })
	change("begun", func(m *outbox.Message) { m.Status, m.Attempts = outbox.Sending, 1 })
	want := []string{"begun", "urgent", "urgent-2", "waits"}
	if got := ids(q.Unanswered()); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if q, err = outbox.Open(dir); err != nil {
		t.Fatal(err)
	}
	if got := ids(q.Unanswered()); !slices.Equal(got, want) {
		t.Errorf("after a restart: %q, want %q", got, want)
	}
}

func ids(messages []outbox.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.ID)
	}
	return all
}
