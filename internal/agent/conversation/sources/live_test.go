package sources_test

import (
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/sources"
	"den/internal/base/fault"
)

// A keeper that finds an agent without a source, or one that lost it, gets
// "unknown" and types.
func TestLiveWithoutASource(t *testing.T) {
	if source := sources.NewLive(agent(t, "shell")).Source(); source != nil {
		t.Errorf("a shell has %T", source)
	}
	live := sources.NewLive(agent(t, "opencode"))
	source := live.Source()
	if s, err := source.State(t.Context()); err != nil || s.Activity != conversation.Unknown || s.Why == "" {
		t.Errorf("%+v, %v", s, err)
	}
	receipt, err := source.(conversation.Sender).Send(t.Context(), conversation.Message{ID: "m", Text: "hello"})
	if fault.KindOf(err) != fault.Unsupported || receipt.Progress != conversation.Failed {
		t.Errorf("%+v, %v", receipt, err)
	}
	if err := source.(conversation.Answerer).Answer(t.Context(), "q", "once"); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("%v", err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

// Only agents with a side channel are sent to without typing.
func TestLiveSends(t *testing.T) {
	for vendor, want := range map[string]bool{"claude": false, "gemini": false, "copilot": false, "codex": true, "opencode": true} {
		_, sends := sources.NewLive(agent(t, vendor)).Source().(conversation.Sender)
		if sends != want {
			t.Errorf("%s sends: %v, want %v", vendor, sends, want)
		}
	}
}

// A start begins a source anew: what was opened for the one before is closed.
func TestLiveOverStarts(t *testing.T) {
	live := sources.NewLive(agent(t, "opencode"))
	defer live.Close()
	if s, err := live.State(t.Context()); err != nil || s.Activity != conversation.Unknown {
		t.Errorf("before the start: %+v, %v", s, err)
	}
	for range 2 {
		if _, err := live.Prepare([]string{"opencode"}); err != nil {
			t.Fatal(err)
		}
		if s, err := live.State(t.Context()); err != nil || s.Activity != conversation.Gone {
			t.Errorf("after the start: %+v, %v", s, err)
		}
	}
	// A server that does not answer certainly has nothing: it can be typed.
	receipt, err := sources.Sending{Live: live}.Send(t.Context(), conversation.Message{ID: "m", Text: "hello"})
	if fault.KindOf(err) != fault.Unsupported || receipt.Progress != conversation.Failed {
		t.Errorf("%+v, %v", receipt, err)
	}
}

// An agent that was started without its source says why.
func TestLiveWithoutASourceSaysWhy(t *testing.T) {
	live := sources.NewLive(agent(t, "codex"))
	defer live.Close()
	if _, err := live.Prepare([]string{"sh", "-c", "nice codex"}); err == nil {
		t.Fatal("a wrapper has a source")
	}
	s, err := live.State(t.Context())
	if err != nil || s.Activity != conversation.Unknown || s.Why != "it was started without one: its command is not codex itself" {
		t.Errorf("%+v, %v", s, err)
	}
}
