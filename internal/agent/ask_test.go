package agent_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// recording is a source that keeps a record of the conversation.
type recording struct {
	mu    sync.Mutex // guards the fields below
	state conversation.State
	reply conversation.Reply
	err   error
	asked []conversation.Asked
}

func (r *recording) Name() string             { return "a record" }
func (r *recording) Changes() <-chan struct{} { return nil }
func (r *recording) Close() error             { return nil }

func (r *recording) State(context.Context) (conversation.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, nil
}

func (r *recording) ReplyTo(_ context.Context, m conversation.Asked) (conversation.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, m)
	return r.reply, r.err
}

// asked starts an agent with a composer and a source, as a keeper runs it.
func asked(t *testing.T, p *fake, s conversation.Source) *agent.Managed {
	t.Helper()
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, t.TempDir()), Timing: quick, Source: s,
		Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	following(t, m)
	return m
}

// The record of the agent answers, and knows the message by its id, its text
// and when it was handed over.
func TestAskReadsTheRecord(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		want := conversation.Reply{Text: "four", Ended: true, Duration: time.Second, Source: "a record", Certainty: conversation.Exact}
		r := &recording{state: conversation.State{Activity: conversation.Ready}, reply: want}
		begun := time.Now()
		got, err := asked(t, composing(), r).Ask(t.Context(), conversation.Message{ID: "q-1", Text: "two and two?"}, conversation.AskOptions{})
		if err != nil || got.Text != want.Text || got.Source != want.Source || got.Certainty != want.Certainty || got.DurationMs != want.Duration.Milliseconds() {
			t.Fatalf("%+v, %v", got, err)
		}
		if a := r.asked[0]; a.ID != "q-1" || a.Text != "two and two?" || a.Handed.Before(begun) || a.Handed.After(time.Now()) {
			t.Errorf("%+v", a)
		}
	})
}

// A record that lost the message leaves the reply to the screen, and a turn
// that failed says why.
func TestAskWithoutARecord(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		r := &recording{state: conversation.State{Activity: conversation.Ready}, err: fault.Errorf(fault.Unsupported, "there is none")}
		got, err := asked(t, composing(), r).Ask(t.Context(), conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{})
		if err != nil || got.Text != "ok" || got.Source != "screen" || got.Certainty != conversation.Likely {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A decision that is open is reported, before the message was sent and after.
func TestAskReportsADecision(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		asks := conversation.State{Activity: conversation.Asking, Question: &conversation.Question{ID: "1", Text: "May I?"}}
		r := &recording{state: asks}
		p := composing()
		m := asked(t, p, r)
		_, err := m.Ask(t.Context(), conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{})
		if fault.KindOf(err) != fault.Waiting || !strings.Contains(err.Error(), "May I?") || !strings.Contains(err.Error(), "queued") || !strings.Contains(fault.HintOf(err), "q-1") || p.called() != "" {
			t.Errorf("%v (%s), %s", err, fault.HintOf(err), p.called())
		}
		r.mu.Lock()
		r.state, r.reply = conversation.State{Activity: conversation.Ready}, conversation.Reply{Text: "done", Ended: true}
		r.mu.Unlock()
		if got, err := m.Ask(t.Context(), conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{}); err != nil || got.Text != "done" {
			t.Errorf("after the decision: %+v, %v", got, err)
		}
		r.mu.Lock()
		r.state, r.reply = asks, conversation.Reply{}
		r.mu.Unlock()
		if _, err := m.Ask(t.Context(), conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{}); fault.KindOf(err) != fault.Waiting {
			t.Errorf("a decision in the turn: %v", err)
		}
	})
}

// A message whose time is over stays: the same id waits for its reply, and it
// is typed once.
func TestAskTimesOut(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		r := &recording{state: conversation.State{Activity: conversation.Busy}}
		p := composing()
		m := asked(t, p, r)
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := m.Ask(short, conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{})
		if fault.KindOf(err) != fault.Timeout || !strings.Contains(err.Error(), "the message stays") {
			t.Errorf("%v", err)
		}
		r.mu.Lock()
		r.state, r.reply = conversation.State{Activity: conversation.Ready}, conversation.Reply{Text: "late", Ended: true}
		r.mu.Unlock()
		if got, err := m.Ask(t.Context(), conversation.Message{ID: "q-1", Text: "hello"}, conversation.AskOptions{}); err != nil || got.Text != "late" || p.called() != "type Enter" {
			t.Errorf("%+v, %v, %s", got, err, p.called())
		}
		if _, err := m.Ask(t.Context(), conversation.Message{ID: "q-1", Text: "another text"}, conversation.AskOptions{}); fault.KindOf(err) != fault.Usage {
			t.Errorf("another text with the same id: %v", err)
		}
	})
}

// A plain program's reply stands between the message and its prompt, also
// where the same was asked before.
func TestAskAPlainProgram(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := realIn(t, p, t.TempDir(), "sh", "-i")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		following(t, m)
		for _, id := range []string{"a", "b"} {
			got, err := m.Ask(t.Context(), conversation.Message{ID: id, Text: "echo one; echo two"}, conversation.AskOptions{})
			if err != nil || got.Text != "one\ntwo" || got.Source != "screen" || got.Certainty != conversation.Likely {
				t.Fatalf("%s: %+v, %v", id, got, err)
			}
		}
		// What came behind it is another's.
		if got, err := m.Ask(t.Context(), conversation.Message{ID: "a", Text: "echo one; echo two"}, conversation.AskOptions{}); fault.KindOf(err) != fault.Unsure {
			t.Errorf("a question from before: %+v, %v", got, err)
		}
	})
}

// An agent that ends does not keep anybody waiting.
func TestAskAnAgentThatEnds(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := realIn(t, p, t.TempDir(), "sh", "-c", "read -r line")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		following(t, m)
		if got, err := m.Ask(t.Context(), conversation.Message{ID: "a", Text: "bye"}, conversation.AskOptions{}); fault.KindOf(err) != fault.NotRunning {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
