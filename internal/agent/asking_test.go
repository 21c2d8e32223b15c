package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// changing is a source whose state a test sets.
type changing struct {
	source
	mu sync.Mutex // guards source.state
}

func (s *changing) State(context.Context) (conversation.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *changing) set(state conversation.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// ofVendor is an agent of a vendor with a source, started. each gets every
// state that is told.
func ofVendor(t *testing.T, vendor string, p *fake, s conversation.Source, each func(conversation.State)) *agent.Managed {
	t.Helper()
	return withQueue(t, queue(t, t.TempDir()), vendor, p, s, each)
}

// withQueue is ofVendor with a queue of its own.
func withQueue(t *testing.T, q *outbox.Queue, vendor string, p *fake, s conversation.Source, each func(conversation.State)) *agent.Managed {
	t.Helper()
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: q, Timing: hasty, Source: s, OnState: each,
		Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Vendor: vendor, Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return m
}

const menu = "\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"

func vague(id string) conversation.State {
	return conversation.State{Activity: conversation.Asking, Question: &conversation.Question{ID: id, Text: "permission prompt", Vague: true, Kind: conversation.Permission}}
}

// A source tells that something is asked, the screen what; and a question of the
// program itself after a turn is on the screen only.
func TestScreenCompletesTheSource(t *testing.T) {
	ready := conversation.State{Activity: conversation.Ready}
	own := conversation.State{Activity: conversation.Asking, Question: &conversation.Question{ID: "1", Text: "May I?", Options: []conversation.Option{{ID: "y", Label: "Yes"}}}}
	known := vague("p")
	known.Question.Text, known.Question.Vague = "touch x", false
	for name, c := range map[string]struct {
		state  conversation.State
		screen string
		want   string // activity, kind, question, number of options, source
	}{
		"vague question":           {vague("p"), "  Would you like to run the following command?\n  $ x\n" + menu, "asking permission: Would you like to run the following command? $ x 2 a state file"},
		"a text that is known":     {known, "  Would you like to run the following command?\n  $ x\n" + menu, "asking permission: touch x 2 a state file"},
		"not drawn yet":            {vague("p"), "working", "asking permission: permission prompt 0 a state file"},
		"a plan":                   {ready, "  Implement this plan?\n" + menu, "asking plan: Implement this plan? 2 screen"},
		"a text about a plan":      {ready, "  Implement this plan?\n" + menu + "\n" + composerWith(""), "ready a state file"},
		"another menu when ready":  {ready, "  Which one?\n" + menu, "ready a state file"},
		"a menu while it is busy":  {conversation.State{Activity: conversation.Busy}, "  Implement this plan?\n" + menu, "busy a state file"},
		"its own question is kept": {own, "  Would you like to?\n" + menu, "asking : May I? 1 a state file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := composing()
			m := ofVendor(t, "codex", p, &source{state: c.state}, nil)
			p.change("s", func(s *fakeSession) { s.screen = c.screen })
			s, err := m.State(t.Context())
			got := string(s.Activity)
			if q := s.Question; q != nil {
				got += fmt.Sprintf(" %s: %s %d", q.Kind, strings.ReplaceAll(q.Text, "\n", " "), len(q.Options))
			}
			if got += " " + s.Source; err != nil || got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// What is told of an agent, in a row.
type toldStates struct {
	mu   sync.Mutex // guards the field below
	told []string
}

func (s *toldStates) add(state conversation.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := string(state.Activity)
	if q := state.Question; q != nil {
		one += fmt.Sprintf(" %s (%d)", strings.ReplaceAll(q.Text, "\n", " "), len(q.Options))
	}
	s.told = append(s.told, one)
}

// since returns what was told, and forgets it.
func (s *toldStates) since() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	return told
}

// A question is told once, and whole: when the screen shows it, whatever else
// moves there, and whether the screen is drawn anew meanwhile.
func TestQuestionIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := composing()
		s := &changing{source: source{state: conversation.State{Activity: conversation.Busy}, changes: make(chan struct{})}}
		var told toldStates
		m := ofVendor(t, "claude", p, s, told.add)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- m.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ran; err != nil {
				t.Error(err)
			}
		}()
		draw := func(screen string) {
			p.change("s", func(s *fakeSession) { s.screen = screen })
		}
		dialog := func(command string, n int) string {
			return fmt.Sprintf("✻ Working… (%ds)\n────────\n Bash command\n Tip: number %d\n %s\n Do you want to proceed?", n, n, command) + menu
		}
		expect := func(when string, want ...string) {
			t.Helper()
			if got := told.since(); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", when, got, want)
			}
		}
		time.Sleep(5 * time.Second)
		expect("at first", "busy")

		s.set(vague("one"))
		time.Sleep(1500 * time.Millisecond)
		expect("before it is drawn")
		if last := m.LastState(); last.Activity != conversation.Asking {
			t.Errorf("meanwhile it is %s", last.Activity)
		}
		draw(dialog("touch x", 1))
		time.Sleep(2 * time.Second)
		expect("when it is drawn", "asking Bash command touch x Do you want to proceed? (2)")
		for n := range 40 {
			draw(dialog("touch x", n))
			if n%7 == 0 {
				draw("✻ Working…")
			}
			time.Sleep(3 * time.Second)
		}
		expect("while it stands")

		// Its source tells one from the next, whatever the screen shows.
		draw(dialog("touch y", 1))
		time.Sleep(3 * time.Second)
		expect("drawn anew")
		s.set(vague("two"))
		time.Sleep(3 * time.Second)
		expect("the next", "asking Bash command touch y Do you want to proceed? (2)")

		// A source that cannot do that leaves it to the screen.
		shared := vague("shared")
		shared.Question.SharedID = true
		s.set(shared)
		time.Sleep(3 * time.Second)
		expect("of another source", "asking Bash command touch y Do you want to proceed? (2)")
		draw(dialog("touch y", 2))
		time.Sleep(3 * time.Second)
		draw(dialog("touch z", 1))
		time.Sleep(3 * time.Second)
		expect("the next of it", "asking Bash command touch z Do you want to proceed? (2)")

		// One that is not on the screen is told after a while, and once.
		draw("✻ Working…")
		s.set(vague("three"))
		time.Sleep(10 * time.Second)
		expect("not drawn", "asking permission prompt (0)")
		draw(dialog("touch z", 1))
		time.Sleep(3 * time.Second)
		expect("drawn late")
		if q := m.LastState().Question; q == nil || len(q.Options) != 2 {
			t.Errorf("the last state has %+v", q)
		}
		s.set(conversation.State{Activity: conversation.Ready})
		time.Sleep(3 * time.Second)
		expect("in the end", "ready")
	})
}

// decider is a source that answers its own questions only.
type decider struct {
	source
	answered []string
}

func (s *decider) Answer(_ context.Context, question, option string) error {
	if s.state.Question == nil || s.state.Question.ID != question {
		return fault.Errorf(fault.NotFound, "it does not ask %s", question)
	}
	s.answered = append(s.answered, option)
	return nil
}

// A question that only the screen shows is answered there, and only while it is
// there; one of the source's own by the source.
func TestAnswersGoWhereItIsAsked(t *testing.T) {
	p := composing()
	const plan, moved = "  Implement this plan?\n\n ❯ 1. Yes\n   2. No\n\n Esc to cancel", "  Implement this plan?\n\n   1. Yes\n ❯ 2. No\n\n Esc to cancel"
	p.onKey = func(s *fakeSession, key string) {
		switch key {
		case "Down":
			s.screen = moved
		case "Enter":
			s.screen = composerWith("")
		}
	}
	s := &decider{source: source{state: conversation.State{Activity: conversation.Ready}}}
	m := ofVendor(t, "codex", p, s, nil)
	p.change("s", func(s *fakeSession) { s.screen = plan })
	asked, err := m.State(t.Context())
	if err != nil || asked.Question == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	if err := m.Answer(t.Context(), "another", "2", ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another question: %v", err)
	}
	if err := m.Answer(t.Context(), asked.Question.ID, "2", ""); err != nil || p.called() != "Down Enter" {
		t.Errorf("%v, pressed %s", err, p.called())
	}
	if err := m.Answer(t.Context(), asked.Question.ID, "2", ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is gone: %v", err)
	}
	s.state = conversation.State{Activity: conversation.Asking, Question: &conversation.Question{ID: "q", Options: []conversation.Option{{ID: "accept"}}}}
	if err := m.Answer(t.Context(), "q", "accept", ""); err != nil || !slices.Equal(s.answered, []string{"accept"}) || p.called() != "Down Enter" {
		t.Errorf("%v, %q, pressed %s", err, s.answered, p.called())
	}
	// What a source tells in part is answered on the screen, too.
	s.state = vague("p")
	p.change("s", func(s *fakeSession) { s.screen = plan })
	asked, err = m.State(t.Context())
	if err != nil || len(asked.Question.Options) != 2 {
		t.Fatalf("%+v, %v", asked.Question, err)
	}
	if err := m.Answer(t.Context(), asked.Question.ID, "2", ""); err != nil || p.called() != "Down Enter Down Enter" {
		t.Errorf("%v, pressed %s", err, p.called())
	}
}

// A message that waits for a question to be decided keeps nobody from deciding
// it, and is typed then.
func TestAnswerWhileAMessageWaits(t *testing.T) {
	p := composing()
	typed := p.onKey
	p.onKey = func(s *fakeSession, key string) {
		if key == "Enter" && strings.Contains(s.screen, "proceed?") {
			s.screen = composerWith("")
			return
		}
		typed(s, key)
	}
	q := queue(t, t.TempDir())
	m := withQueue(t, q, "claude", p, nil, nil)
	p.change("s", func(s *fakeSession) { s.screen = "────────\n touch x\n Do you want to proceed?" + menu })
	asked, err := m.State(t.Context())
	if err != nil || asked.Question == nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	n, err := m.KeepNudge(t.Context(), "", "hello")
	if err != nil {
		t.Fatal(err)
	}
	delivered := make(chan error, 1)
	go func() {
		_, err := m.DeliverNudge(t.Context(), n.ID)
		delivered <- err
	}()
	for {
		kept, err := q.Get(n.ID)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Reason == "a dialog is open" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := m.Answer(t.Context(), asked.Question.ID, "1", ""); err != nil {
		t.Fatal(err)
	}
	if err := <-delivered; err != nil || p.called() != "Enter type Enter" {
		t.Errorf("%v, pressed %s", err, p.called())
	}
}
