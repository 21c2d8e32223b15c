package harness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
)

// Mentions of quiet hours are kept, the status says why nothing happens, and
// whoever resumes the agent wakes it until they are over.
func TestQuietHoursKeepMentions(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	quiet := harness.QuietHours{Start: now.Add(-time.Hour).Format("15:04"), End: now.Add(2 * time.Hour).Format("15:04")}
	asleep := func(o *harness.Options) { o.Config.Quiet = quiet }
	a := w.start("echo", sayer, asleep)
	bob := w.person("bob")
	defer bob.Close()
	say(t, bob, "#general", "@echo say good morning")
	say(t, bob, "#general", "@echo say again")
	status := func() (s ipc.AgentStatus) {
		conn := w.dial("echo")
		defer conn.Close() // Best effort: it was answered.
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Status}, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := status()
	for s.Pending < 2 || s.Why == "" {
		s = status()
	}
	want := "quiet hours until " + quiet.End
	if !s.Paused || s.Activity != "paused" || s.Description != want || s.Why != want {
		t.Errorf("asleep: %+v, want %q", s, want)
	}
	if _, err := w.dial("echo").Call(t.Context(), ipc.Request{Type: ipc.Resume}, nil); err != nil {
		t.Fatal(err)
	}
	if got := hears(t, bob, "echo", 2); got[0].Text != "good morning" || got[1].Text != "again" {
		t.Errorf("%q, %q", got[0].Text, got[1].Text)
	}
	a.stop()
	w.start("echo", sayer, asleep) // a restart does not put it to sleep
	if s := status(); s.Paused {
		t.Errorf("after a restart: %+v", s)
	}
	if _, err := w.dial("echo").Call(t.Context(), ipc.Request{Type: ipc.Pause}, nil); err != nil {
		t.Fatal(err)
	}
	if s := status(); !s.Paused || s.Description != "paused by a person" {
		t.Errorf("paused: %+v", s)
	}
}

func TestBufferSize(t *testing.T) {
	w := newWorld(t)
	w.start("echo", sayer, func(o *harness.Options) { o.Config.BufferSize = 3 })
	bob := w.person("bob")
	defer bob.Close()
	for i := range 8 {
		say(t, bob, "#general", fmt.Sprintf("line %d", i))
	}
	say(t, bob, "#general", "@echo say last")
	hears(t, bob, "echo", 1)
	conn := w.dial("echo")
	var m ipc.Messages
	for i := 0; len(m.Messages) == 0 || m.Messages[len(m.Messages)-1].Text != "last"; i++ { // until it has heard its own answer
		if _, err := conn.Call(t.Context(), ipc.Request{Type: ipc.Read, Channel: "#general", Reader: fmt.Sprint(i)}, &m); err != nil {
			t.Fatal(err)
		}
	}
	if total := len(m.Messages) + int(m.Dropped); total != 10 || m.Dropped == 0 || len(m.Messages) < 3 || !strings.HasPrefix(m.Messages[0].Text, "line ") {
		t.Errorf("%d messages, %d dropped: %+v", len(m.Messages), m.Dropped, m.Messages)
	}
}
