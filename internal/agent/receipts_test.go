package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/screen"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// realIn is real with a queue of its own choosing and quick waits, except for
// evidence: that comes when the machine has the time.
func realIn(t *testing.T, p provider.Provider, dir string, command ...string) *agent.Managed {
	t.Helper()
	return realWithin(t, time.Minute, p, dir, command...)
}

// hastyIn is one for which no evidence will come.
func hastyIn(t *testing.T, p provider.Provider, dir string, command ...string) *agent.Managed {
	t.Helper()
	return realWithin(t, 2*time.Second, p, dir, command...)
}

func realWithin(t *testing.T, confirm time.Duration, p provider.Provider, dir string, command ...string) *agent.Managed {
	t.Helper()
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "den-w-a", Provider: p, Nudges: queue(t, dir),
		Timing: screen.Timing{Quiet: 100 * time.Millisecond, Patience: 300 * time.Millisecond, Confirm: confirm},
		Config: agent.SessionConfig{Command: command, WorkDir: t.TempDir(), StartupTimeout: 20 * time.Second, Env: values(map[string]string{"PS1": "ready> "})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return m
}

// The terminal echoes what is typed at a program that never reads: that is no
// evidence.
func TestEchoIsNoEvidence(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := hastyIn(t, p, t.TempDir(), "sh", "-c", "while :; do echo tick; sleep 0.1; done")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		n, err := m.Nudge(t.Context(), "", "are you there")
		if err != nil || n.Status != conversation.Sent || !strings.Contains(n.Reason, "not read") {
			t.Errorf("%s (%s), %v", n.Status, n.Reason, err)
		}
	})
}

// What a line reader has read was taken.
func TestLineReaderTakes(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := realIn(t, p, t.TempDir(), "cat")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", "two\nlines", strings.Repeat("x", provider.MaxLine)} {
			if n, err := m.Nudge(t.Context(), "", text); err != nil || n.Status != conversation.Taken {
				t.Errorf("%.10s: %s (%s), %v", text, n.Status, n.Reason, err)
			}
		}
	})
}

// A line that the terminal would cut is refused, with the limit; a program
// that reads keys gets it whole.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := realIn(t, p, t.TempDir(), "cat")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		n, err := m.Nudge(t.Context(), "", "first\n"+long)
		if fault.KindOf(err) != fault.Usage || n.Status != conversation.Failed || !strings.Contains(err.Error(), fmt.Sprint(provider.MaxLine)) || fault.HintOf(err) == "" {
			t.Errorf("%s (%s), %v", n.Status, n.Reason, err)
		}
		if screen, err := m.Peek(t.Context(), 10); err != nil || strings.Contains(screen, "x") || strings.Contains(screen, "first") {
			t.Errorf("%v: a part was typed: %.100s", err, screen)
		}
		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}

		m = realIn(t, p, t.TempDir(), "bash", "--norc")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "count")
		if n, err := m.Nudge(t.Context(), "", "printf %s "+long+" | wc -c >"+file); err != nil || n.Status != conversation.Taken {
			t.Fatalf("%s (%s), %v", n.Status, n.Reason, err)
		}
		if got := awaitFile(t, file); got != fmt.Sprint(len(long)) {
			t.Errorf("%s bytes arrived", got)
		}
	})
}

// A program that reads slowly, but reads, takes what it is told.
func TestSlowReaderTakes(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, t.TempDir()), Timing: hasty,
			Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		p.onKey = func(*fakeSession, string) { p.input.Unread = 20 }
		p.onInput = func() {
			if p.input.Unread > 0 {
				time.Sleep(hasty.Confirm / 2)
				p.input.Unread--
			}
		}
		if n, err := m.Nudge(t.Context(), "", "a long text"); err != nil || n.Status != conversation.Taken {
			t.Errorf("%s (%s), %v", n.Status, n.Reason, err)
		}
	})
}

func awaitFile(t *testing.T, path string) string {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			return strings.TrimSpace(string(data))
		}
	}
	t.Fatalf("nothing came to %s", path)
	return ""
}

// A nudge waits while somebody's text stands in the line, and is never glued
// to it.
func TestNudgeIsNotGluedToADraft(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"line editor": {"bash", "--norc"},
		"line mode":   {"sh", "-c", "while printf 'ready> ' && read -r line; do echo \"got <$line>\"; eval \"$line\"; done"},
	} {
		t.Run(name, func(t *testing.T) {
			onReal(t, func(t *testing.T, p provider.Provider) {
				m := realIn(t, p, t.TempDir(), command...)
				if err := m.Start(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				shows(t, m, "ready>")
				if err := p.(provider.OnTerminal).Type(t.Context(), m.SessionName(), "half "); err != nil {
					t.Fatal(err)
				}
				shows(t, m, "ready> half")
				m = realIn(t, p, t.TempDir(), command...) // as one that another configuration makes
				short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				n, err := m.Nudge(short, "", "echo whole-$((1+1))")
				if fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued || !strings.Contains(err.Error(), "half") {
					t.Fatalf("%s (%s), %v", n.Status, n.Reason, err)
				}
				if err := p.SendKeys(t.Context(), m.SessionName(), "C-u"); err != nil {
					t.Fatal(err)
				}
				deliverAll(t, m)
				shows(t, m, "whole-2")
				if text, err := m.Peek(t.Context(), 50); err != nil || strings.Contains(text, "half echo") {
					t.Errorf("%v: %s", err, text)
				}
			})
		})
	}
}

// A keeper that died between text and Enter left the text in the line: the
// next one presses Enter behind it, and types nothing twice.
func TestTextWithoutEnterIsFinished(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{"line editor": {"bash", "--norc"}, "line mode": {"sh"}} {
		t.Run(name, func(t *testing.T) {
			onReal(t, func(t *testing.T, p provider.Provider) {
				left := leaveTextWithoutEnter(t, p, command, false)
				second, err := left.Nudge(t.Context(), "", "echo twice >>"+left.file)
				if err != nil || second.Status != conversation.Taken {
					t.Fatalf("%s (%s), %v", second.Status, second.Reason, err)
				}
				if first := nudge(t, left.dir, "mine"); first.Status != conversation.Taken {
					t.Errorf("%s (%s)", first.Status, first.Reason)
				}
				for got := ""; got != "once\ntwice"; time.Sleep(5 * time.Millisecond) {
					if got = awaitFile(t, left.file); !strings.HasPrefix("once\ntwice", got) {
						t.Fatalf("%q was run", got)
					}
				}
			})
		})
	}
}

// Also where the keeper that died had not finished the agent's start: text that
// stays in the line would be glued to the next.
func TestTextWithoutEnterInACutOffStart(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		left := leaveTextWithoutEnter(t, p, []string{"sh"}, true)
		if first, err := left.Nudge(t.Context(), "mine", left.text); err != nil || first.Status != conversation.Taken {
			t.Errorf("%s (%s), %v", first.Status, first.Reason, err)
		}
		if got := awaitFile(t, left.file); got != "once" {
			t.Errorf("%q was run", got)
		}
	})
}

// textWithoutEnter is an agent in whose line a nudge stands that was not
// entered, as a new keeper finds it.
type textWithoutEnter struct {
	*agent.Managed
	dir, file string // its queue, and what the nudge writes to
	text      string // of the nudge "mine"
}

// leaveTextWithoutEnter makes one, as a keeper leaves it that dies between text
// and Enter, and with cutOff also before it has noted that the start is over.
func leaveTextWithoutEnter(t *testing.T, p provider.Provider, command []string, cutOff bool) textWithoutEnter {
	t.Helper()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	m := realIn(t, p, dir, command...)
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	shows(t, m, "ready>")
	n, err := m.KeepNudge(t.Context(), "mine", "echo once >>"+file)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, dir, n, func(n *outbox.Message) { n.Status, n.Before = outbox.Sending, "of the screen before" })
	if cutOff {
		if err := p.RemoveMeta(t.Context(), m.SessionName(), agent.MetaFingerprint); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.(provider.OnTerminal).Type(t.Context(), m.SessionName(), n.Text); err != nil {
		t.Fatal(err)
	}
	shows(t, m, n.Text)
	return textWithoutEnter{realIn(t, p, dir, command...), dir, file, n.Text}
}

// A call that is repeated with its id is one nudge.
func TestNudgeIDs(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir := t.TempDir()
		p := composing()
		m := started(t, p, dir)
		for range 2 {
			if n, err := m.Nudge(t.Context(), "job-7", "do it"); err != nil || n.ID != "job-7" || n.Status != conversation.Taken {
				t.Errorf("%+v, %v", n, err)
			}
		}
		m = started(t, p, dir) // as after a restart of the keeper
		if n, err := m.Nudge(t.Context(), "job-7", "do it"); err != nil || n.Status != conversation.Taken || p.called() != "type Enter" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
		for id, text := range map[string]string{"job-7": "do that", "a/b": "x", strings.Repeat("x", 200): "x"} {
			if _, err := m.Nudge(t.Context(), id, text); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), id[:3]) {
				t.Errorf("%.10s: %v", id, err)
			}
		}
	})
}

// Queues of earlier dens are read: what they called delivered had no more
// evidence than the screen.
func TestOldQueueFiles(t *testing.T) {
	dir := t.TempDir()
	for i, state := range []string{"queued", "delivered", "unconfirmed", "failed"} {
		name := fmt.Sprintf("01jq%018d", i)
		record := fmt.Sprintf(`{"v":1,"id":%q,"text":"x","state":%q,"attempts":1}`, name, state)
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range queue(t, dir).List() {
		got = append(got, string(m.Status))
	}
	if strings.Join(got, " ") != "queued sent sent failed" {
		t.Errorf("%q", got)
	}
}

// A dialog that opens between text and Enter gets no Enter: it would be the
// answer.
func TestNoEnterIntoADialog(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		const dialog = "Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
		p.onType = func(s *fakeSession, text string) error { s.screen = dialog; return nil }
		m := startedWith(t, p, t.TempDir(), hasty)
		n, err := m.Nudge(t.Context(), "", "maybe")
		if err != nil || n.Status != conversation.Sent || !strings.Contains(n.Reason, "Enter was not pressed") || p.called() != "type" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
		s, err := m.State(t.Context())
		if err != nil || s.Activity != conversation.Asking || s.Question.Kind != conversation.Permission || s.Source != "screen" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// A text that looks like a menu is no dialog.
func TestListsAreTyped(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		m := started(t, p, t.TempDir())
		if n, err := m.Nudge(t.Context(), "", "1. read it\n2. write it\n3. Esc to cancel"); err != nil || n.Status != conversation.Taken || p.called() != "type Enter" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
	})
}

// source is a truer source than the screen.
type source struct {
	state   conversation.State
	sent    []string
	changes chan struct{}
}

func (s *source) Name() string                                      { return "a state file" }
func (s *source) State(context.Context) (conversation.State, error) { return s.state, nil }
func (s *source) Changes() <-chan struct{}                          { return s.changes }
func (s *source) Close() error                                      { return nil }

// sender is a source that takes messages, too.
type sender struct{ source }

func (s *sender) Send(_ context.Context, m conversation.Message) (conversation.Receipt, error) {
	s.sent = append(s.sent, m.Text)
	return conversation.Receipt{ID: m.ID, Progress: conversation.Taken, Evidence: "the server has it"}, nil
}

// The source is asked before the screen: it keeps den from typing, and takes
// the message itself where it can.
func TestSourceComesFirst(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		open := func(s conversation.Source) *agent.Managed { return fromSource(t, p, s) }
		asking := &source{state: conversation.State{Activity: conversation.Asking, Question: &conversation.Question{ID: "1", Text: "May I?"}}}
		m := open(asking)
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if s, err := m.State(t.Context()); err != nil || s.Activity != conversation.Asking || s.Source != "a state file" {
			t.Errorf("%+v, %v", s, err)
		}
		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if n, err := m.Nudge(short, "", "hello"); fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued || p.called() != "" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
		server := &sender{source{state: conversation.State{Activity: conversation.Ready}}}
		n, err := open(server).Nudge(t.Context(), "", "hello")
		if err != nil || n.Status != conversation.Taken || n.Reason != "the server has it" || p.called() != "" || len(server.sent) != 1 {
			t.Errorf("%+v, %v, %s, %q", n, err, p.called(), server.sent)
		}
	})
}

func fromSource(t *testing.T, p *fake, s conversation.Source) *agent.Managed {
	t.Helper()
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, t.TempDir()), Timing: hasty, Source: s,
		Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// withSource is fromSource, started.
func withSource(t *testing.T, p *fake, s conversation.Source) *agent.Managed {
	t.Helper()
	m := fromSource(t, p, s)
	if err := m.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// unable is a source that can send only when its server is there.
type unable struct {
	sender
	err error // or nil: it sends
}

func (s *unable) Send(ctx context.Context, m conversation.Message) (conversation.Receipt, error) {
	if s.err != nil {
		return conversation.Receipt{ID: m.ID, Progress: conversation.Failed}, s.err
	}
	return s.sender.Send(ctx, m)
}

// Where a source cannot send after all the text is typed, but not behind a text
// that somebody left in the composer.
func TestSourceThatCannotSendKeepsDraftsApart(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		s := &unable{sender{source{state: conversation.State{Activity: conversation.Ready}}}, fault.Errorf(fault.Unsupported, "its server is away")}
		m := withSource(t, p, s)
		p.change("s", func(s *fakeSession) { s.draft, s.screen = "half", composerWith("half") })
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, err := m.Nudge(short, "", "whole")
		if fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued || !strings.Contains(n.Reason, "half") || p.called() != "" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
		p.change("s", func(s *fakeSession) { s.draft, s.screen = "", composerWith("") })
		deliverAll(t, m)
		if p.called() != "type Enter" {
			t.Errorf("it called %s", p.called())
		}
		s.err = nil
		if n, err := m.Nudge(t.Context(), "", "more"); err != nil || n.Status != conversation.Taken || len(s.sent) != 1 {
			t.Errorf("%+v, %v, %q", n, err, s.sent)
		}
	})
}

// What a source refused was not sent: it is offered again, and failed in the
// end.
func TestRefusedBySource(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		s := &unable{sender{source{state: conversation.State{Activity: conversation.Ready}}}, fault.Errorf(fault.Protocol, "it said no")}
		m := withSource(t, p, s)
		n, err := m.Nudge(t.Context(), "", "hello")
		if err == nil || n.Status != conversation.Failed || n.Attempts != 3 || !strings.Contains(err.Error(), "it said no") || p.called() != "" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
	})
}
