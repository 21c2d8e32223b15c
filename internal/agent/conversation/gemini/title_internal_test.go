package gemini

import (
	"context"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

func TestTitles(t *testing.T) {
	for title, want := range map[string]conversation.Activity{
		"◇  Ready (work)":           conversation.Ready,
		"✦  Working… (work)":        conversation.Busy,
		"⏲  Working… (work)":        conversation.Busy,
		"✋  Action Required (work)": conversation.Asking,
		" ✋ Action Required":        conversation.Asking,
		"":                          conversation.Unknown,
		"bash":                      conversation.Unknown,
		"\xe2\x97":                  conversation.Unknown,
	} {
		s := parseTitle(title)
		if s.Activity != want || (s.Question != nil) != (want == conversation.Asking) || (s.Why != "") != (want == conversation.Unknown) {
			t.Errorf("%q: %+v, want %s", title, s, want)
		}
	}
}

func TestGone(t *testing.T) {
	s := Open(Options{
		Title:     func(context.Context) (string, error) { return "", fault.Errorf(fault.NotRunning, "it has ended") },
		Processes: func(context.Context) ([]int, error) { return nil, nil },
	})
	defer s.Close()
	select {
	case <-s.Changes():
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing is told")
	}
	if state, err := s.State(t.Context()); err != nil || state.Activity != conversation.Gone {
		t.Errorf("%+v, %v", state, err)
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("✋  Action Required (work)")
	f.Fuzz(func(t *testing.T, title string) {
		if s := parseTitle(title); (s.Question != nil) != (s.Activity == conversation.Asking) {
			t.Errorf("%q: %+v", title, s)
		}
	})
}
