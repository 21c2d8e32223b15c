package outbox_test

import (
	"fmt"
	"slices"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
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

// A call that is repeated with its id sends nothing again, also when so many
// messages have followed that the first is not kept any more.
func TestIDOutlivesItsMessage(t *testing.T) {
	dir := t.TempDir()
	q, err := outbox.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 210 {
		id := fmt.Sprint("id-", i)
		if _, err := q.Add(id, "text of "+id); err != nil {
			t.Fatal(err)
		}
		if err := q.Finish(id, func(m *outbox.Message) { m.Status, m.Reason = conversation.Taken, "why" }); err != nil {
			t.Fatal(err)
		}
	}
	check := func(q *outbox.Queue) {
		t.Helper()
		m, err := q.Add("id-0", "text of id-0")
		if err != nil || !m.Forgotten || m.Status != conversation.Taken || m.Reason != "why" || q.Pending() > 0 {
			t.Errorf("again: %+v, %v; %d are pending", m, err, q.Pending())
		}
		if m, err := q.AddFirst("id-1", "text of id-1"); err != nil || !m.Forgotten || q.Pending() > 0 {
			t.Errorf("again, as the first of a start: %+v, %v", m, err)
		}
		if m, err := q.Get("id-0"); err != nil || m.Status != conversation.Taken {
			t.Errorf("what became of it: %+v, %v", m, err)
		}
		if _, err := q.Add("id-0", "another"); fault.KindOf(err) != fault.Usage {
			t.Errorf("with another text: %v", err)
		}
		if m, err := q.Add("id-209", "text of id-209"); err != nil || m.Forgotten || m.Text == "" {
			t.Errorf("one that is kept: %+v, %v", m, err)
		}
	}
	check(q)
	if len(q.List()) != 200 {
		t.Errorf("%d are kept", len(q.List()))
	}
	if q, err = outbox.Open(dir); err != nil {
		t.Fatal(err)
	}
	check(q)
}
