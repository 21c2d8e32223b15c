package copilot

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/watch"
	"den/internal/agent/runner/copilot/wire"
)

// The events were recorded from Copilot CLI 1.0.102: a permission that was
// denied with Esc, a question, and Esc in a turn.
func TestRecordedEvents(t *testing.T) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var m model
	var all []string
	for line := range bytes.Lines(data) {
		e, err := wire.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m.apply(e)
		s := m.state(true)
		text := string(s.Activity)
		if s.Question != nil {
			text += " " + string(s.Question.Kind) + " " + s.Question.Text
		}
		if len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	want := []string{"busy", "asking permission touch made", "busy", "asking choice Which colour?", "busy"}
	if !slices.Equal(all, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	if s := m.state(false); s.Activity != conversation.Ready {
		t.Errorf("%+v", s)
	}
}

// The state file was seen to call a session idle for most of a minute after its
// turn had begun: the events alone tell what it does.
func TestRecordedEventsAlone(t *testing.T) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var m model
	var all []string
	for line := range bytes.Lines(data) {
		e, err := wire.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		m.apply(e)
		if text := string(m.state(false).Activity); len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	want := []string{"unknown", "ready", "busy", "asking", "ready", "busy", "asking", "busy", "ready", "busy", "ready", "busy", "ready"}
	if !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
}

// Recorded, too: a model that broke off its answer, six times.
func TestRecordedFailure(t *testing.T) {
	data, err := os.ReadFile("testdata/failed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var m model
	apply := func(data []byte) conversation.State {
		t.Helper()
		for line := range bytes.Lines(data) {
			e, err := wire.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			m.apply(e)
		}
		return m.state(false)
	}
	if s := apply(data); s.Activity != conversation.TurnFailed || !strings.HasPrefix(s.Why, "Failed to get response from the AI model; retried 5 times") {
		t.Errorf("%+v", s)
	}
	failed := m
	for _, next := range []string{`{"type":"user.message"}`, `{"type":"assistant.message"}`, `{"type":"abort"}`} {
		m = failed
		if s := apply([]byte(next)); s.Activity != conversation.Ready {
			t.Errorf("after %s: %+v", next, s)
		}
	}
	m = failed
	if s := apply([]byte(`{"type":"session.error","data":{"message":{"text":"odd"}}}`)); s.Activity != conversation.TurnFailed || s.Why == "" {
		t.Errorf("%+v", s)
	}
}

func TestStates(t *testing.T) {
	asks := []conversation.Question{{ID: "q", Kind: conversation.Permission}}
	for _, c := range []struct {
		name    string
		model   model
		working bool
		want    conversation.Activity
	}{
		{"it comes up", model{}, false, conversation.Unknown},
		{"its first turn", model{}, true, conversation.Busy},
		{"a turn", model{begun: true}, true, conversation.Busy},
		{"after a turn", model{begun: true}, false, conversation.Ready},
		{"a decision", model{begun: true, open: asks}, true, conversation.Asking},
		{"a turn that the state file does not know of yet", model{begun: true, calling: true}, false, conversation.Busy},
		{"a decision in it", model{begun: true, calling: true, open: asks}, false, conversation.Asking},
		{"after a turn that failed", model{begun: true, failed: "no"}, false, conversation.TurnFailed},
		{"a turn that is tried again", model{begun: true, failed: "no"}, true, conversation.Busy},
		{"a decision of a turn that is over", model{begun: true, open: asks}, false, conversation.Ready},
	} {
		if s := c.model.state(c.working); s.Activity != c.want || (s.Question != nil) != (c.want == conversation.Asking) {
			t.Errorf("%s: %+v, want %s", c.name, s, c.want)
		}
	}
}

func TestStateFile(t *testing.T) {
	data, err := os.ReadFile("testdata/open-sessions-state.json")
	if err != nil {
		t.Fatal(err)
	}
	if working, open, err := workingOf(data, "11111111-2222-4333-8444-555555555555"); err != nil || working || !open {
		t.Errorf("%v %v %v", working, open, err)
	}
	if _, open, err := workingOf(data, "another"); err != nil || open {
		t.Errorf("%v %v", open, err)
	}
}

// A line that is not whole yet is read when it is, and none is read twice.
func TestTailReadsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	tl := tail{Tail: watch.Tail{Path: path}}
	for _, step := range []struct {
		add   string
		begun bool
		open  int
	}{
		{`{"type":"user.mess`, false, 0},
		{"age\"}\n" + `{"type":"permission.requested","data":{"requestId":"a"}}` + "\n{", true, 1},
		{"garbage\n", true, 1},
		{`{"type":"permission.completed","data":{"requestId":"a"}}` + "\n", true, 0},
	} {
		add(step.add)
		if err := tl.update(); err != nil {
			t.Fatal(err)
		}
		if tl.model.begun != step.begun || len(tl.model.open) != step.open {
			t.Errorf("after %q: %+v", step.add, tl.model)
		}
	}
}

func FuzzEvents(f *testing.F) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	state, err := os.ReadFile("testdata/open-sessions-state.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _, _ = workingOf(line, "s")
		var m model
		e, err := wire.Parse(line)
		if err != nil {
			return
		}
		m.apply(e)
		if s := m.state(true); (s.Question != nil) != (s.Activity == conversation.Asking) {
			t.Errorf("%+v", s)
		}
	})
}
