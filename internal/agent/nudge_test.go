package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// composing makes a fake with a composer, as coding agents draw it.
func composing() *fake {
	p := newFake()
	p.onStart = func(s *fakeSession) { s.screen = composerWith("") }
	p.onType = func(s *fakeSession, text string) error {
		s.draft += text
		s.screen = strings.Replace(s.screen, composerWith(""), composerWith(s.draft), 1)
		return nil
	}
	p.onKey = func(s *fakeSession, key string) {
		if key == "Enter" && s.draft != "" {
			s.screen = "❯ " + s.draft + "\n● ok\n" + composerWith("")
			s.draft = ""
		}
	}
	return p
}

func composerWith(text string) string {
	return "────\n❯ " + strings.ReplaceAll(text, "\n", "\n  ") + "\n────\n status"
}

func started(t *testing.T, p *fake, dir string) *agent.Managed {
	t.Helper()
	return startedWith(t, p, dir, quick)
}

// hasty is for tests in which nothing is confirmed.
var hasty = screen.Timing{Quiet: quick.Quiet, Patience: quick.Patience, Confirm: 400 * time.Millisecond}

func startedWith(t *testing.T, p *fake, dir string, timing screen.Timing) *agent.Managed {
	t.Helper()
	return startedAs(t, p, dir, timing, workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}})
}

func startedAs(t *testing.T, p *fake, dir string, timing screen.Timing, hints workspace.Hints) *agent.Managed {
	t.Helper()
	m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, dir), Timing: timing,
		Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Hints: hints}})
	if err != nil {
		t.Fatal(err)
	}
	if running, _ := m.IsRunning(t.Context()); !running {
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestNudgeIsDelivered(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir := t.TempDir()
		p := composing()
		m := started(t, p, dir)
		n, err := m.Nudge(t.Context(), "", "do this\nand that")
		if err != nil || n.Status != conversation.Taken || n.Attempts != 1 {
			t.Fatalf("%+v, %v", n, err)
		}
		if p.called() != "type Enter" || n.Reason == "" {
			t.Errorf("calls: %s, evidence %q", p.called(), n.Reason)
		}
		again := queue(t, dir)
		if got, err := again.Get(n.ID); err != nil || got.Status != conversation.Taken || again.Pending() != 0 {
			t.Errorf("on disk: %+v, %v", got, err)
		}
		info, err := os.Stat(filepath.Join(dir, n.ID+".json"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info, err)
		}
	})
}

// Text that stays in the composer gets Enter again; text that never shows is
// not sent a second time, and an echo is no evidence.
func TestNudgeConfirmation(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		enters, enter := 0, p.onKey
		p.onKey = func(s *fakeSession, key string) {
			if enters++; enters == 2 {
				enter(s, key)
			}
		}
		m := started(t, p, t.TempDir())
		if n, err := m.Nudge(t.Context(), "", "hello"); err != nil || n.Status != conversation.Taken || p.called() != "type Enter Enter" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}

		p = composing()
		p.onType = func(*fakeSession, string) error { return nil }
		m = startedWith(t, p, t.TempDir(), hasty)
		if n, err := m.Nudge(t.Context(), "", "hello"); err != nil || n.Status != conversation.Sent || p.called() != "type Enter" || n.Reason == "" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}

		p = composing()
		p.onType = func(*fakeSession, string) error { return fault.Errorf(fault.Usage, "a control character") }
		m = started(t, p, t.TempDir())
		if n, err := m.Nudge(t.Context(), "", "hello"); fault.KindOf(err) != fault.Usage || n.Status != conversation.Failed || !strings.Contains(err.Error(), n.ID) {
			t.Errorf("%+v, %v", n, err)
		}
	})
}

// A question of the start that comes late, as codex draws it over its prompt,
// is answered before anything is typed.
func TestALateDialogIsAnsweredFirst(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		m := started(t, p, t.TempDir())
		p.change("s", func(s *fakeSession) { s.screen = screenFile(t, "claude-after-trust") })
		p.mu.Lock()
		p.onKey = func(s *fakeSession, key string) {
			switch key {
			case "Up":
				s.screen = strings.NewReplacer("❯ No (rec", "  No (rec", "    Yes\n", "  ❯ Yes\n").Replace(s.screen)
			case "Enter":
				s.screen, s.draft = composerWith(""), ""
			}
		}
		p.mu.Unlock()
		if n, err := m.Nudge(t.Context(), "", "hello"); err != nil || n.Status != conversation.Taken || p.called() != "Up Enter type Enter" {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
	})
}

// A coding agent that shows nothing yet is given more time than one that is
// busy: what is typed at it is lost, or comes when nobody looks.
func TestNothingIsTypedAtABlankScreen(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.busy = true
		timing := screen.Timing{Patience: 300 * time.Millisecond, Confirm: 5 * time.Second}
		m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, t.TempDir()), Timing: timing,
			Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Hints: workspace.Hints{ReadyDelayMs: 1, ProcessNames: []string{"x"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ended := make(chan outbox.Message, 1)
		go func() {
			n, err := m.Nudge(t.Context(), "", "hello")
			if err != nil {
				t.Error(err)
			}
			ended <- n
		}()
		for begun := time.Now(); time.Since(begun) < 2*timing.Patience; time.Sleep(time.Millisecond) {
			if p.called() != "" {
				t.Fatalf("calls: %s", p.called())
			}
		}
		p.change("s", func(s *fakeSession) { s.screen = "┃ Ask anything" })
		if n := <-ended; n.Status != conversation.Sent || p.called() != "type Enter" {
			t.Errorf("%+v, %s", n, p.called())
		}
	})
}

// Nobody has to nudge an agent for its late question to be answered.
func TestALateDialogIsAnswered(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		m := started(t, p, t.TempDir())
		p.mu.Lock()
		p.onKey = func(s *fakeSession, key string) { s.screen = "────\n❯ \n────\n status" }
		p.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		p.change("s", func(s *fakeSession) { s.screen = screenFile(t, "codex-git-first") })
		for begun := time.Now(); p.called() != "Enter"; time.Sleep(time.Millisecond) {
			if time.Since(begun) > 2*time.Minute {
				t.Fatalf("calls: %s", p.called())
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Text that stays where it was typed was not taken.
func TestHeldTextIsNotTaken(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		p.onKey = func(*fakeSession, string) {}
		m := startedWith(t, p, t.TempDir(), hasty)
		n, err := m.Nudge(t.Context(), "", "hello")
		if err != nil || n.Status != conversation.Sent || !strings.Contains(n.Reason, "not taken") || strings.Count(p.called(), "type") != 1 {
			t.Errorf("%+v, %v, %s", n, err, p.called())
		}
	})
}

// Nothing is typed into a dialog, beside a person, or at a busy agent.
func TestNudgeWaits(t *testing.T) {
	for name, c := range map[string]struct {
		hinder, free func(p *fake)
		reason       string
	}{
		"dialog": {
			func(p *fake) {
				p.change("s", func(s *fakeSession) { s.screen = "Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel" })
			},
			func(p *fake) { p.change("s", func(s *fakeSession) { s.screen = composerWith("") }) },
			"dialog",
		},
		"draft": {
			func(p *fake) { p.change("s", func(s *fakeSession) { s.screen = composerWith("half a thought") }) },
			func(p *fake) { p.change("s", func(s *fakeSession) { s.screen = composerWith("") }) },
			"half a thought",
		},
		"person": {
			func(p *fake) { p.mu.Lock(); p.typed = time.Now().Add(time.Hour); p.mu.Unlock() },
			func(p *fake) { p.mu.Lock(); p.typed = time.Time{}; p.mu.Unlock() },
			"types",
		},
		"busy": {
			func(p *fake) {
				p.mu.Lock()
				p.busy = true
				p.mu.Unlock()
				p.change("s", func(s *fakeSession) { s.screen = "working" })
			},
			func(p *fake) { p.change("s", func(s *fakeSession) { s.screen = composerWith("") }) },
			"busy",
		},
		"dead": {
			func(p *fake) { p.change("s", func(s *fakeSession) { s.exit = &provider.Exit{} }) },
			func(p *fake) { p.change("s", func(s *fakeSession) { s.exit = nil }) },
			"not run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			onClockOfItsOwn(t, func(t *testing.T) {
				p := composing()
				m := started(t, p, t.TempDir())
				c.hinder(p)
				short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				n, err := m.Nudge(short, "", "hello")
				if fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued || !strings.Contains(n.Reason, c.reason) || fault.HintOf(err) == "" {
					t.Fatalf("%+v, %v", n, err)
				}
				if p.called() != "" {
					t.Errorf("typed: %s", p.called())
				}
				c.free(p)
				second, err := m.Nudge(t.Context(), "", "second")
				if err != nil || second.Status != conversation.Taken || p.called() != "type Enter type Enter" {
					t.Errorf("%+v, %v, %s", second, err, p.called())
				}
			})
		})
	}
}

// While nobody can tell what stands in a plain program's line, nothing is
// typed: it may be somebody's text. Under load a host that was asked too late
// gave such an error, and the message was glued to a draft.
func TestNothingIsTypedWhileTheLineIsNotKnown(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := newFake()
		p.onStart = func(s *fakeSession) { s.screen = "$ " }
		m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: p, Nudges: queue(t, t.TempDir()), Timing: hasty,
			Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir()}})
		if err == nil {
			err = m.Start(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		p.deaf = fault.Errorf(fault.Unreachable, "the host does not answer")
		p.mu.Unlock()
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		n, err := m.Nudge(short, "", "hello")
		if fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued || !strings.Contains(n.Reason, "does not answer") {
			t.Errorf("%+v, %v", n, err)
		}
		if p.called() != "" {
			t.Errorf("typed: %s", p.called())
		}
	})
}

// A process that dies leaves its queue: what was not typed is typed by the
// next, what was perhaps typed is not typed twice.
func TestQueueSurvivesARestart(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir := t.TempDir()
		p := composing()
		m := started(t, p, dir)
		p.change("s", func(s *fakeSession) { s.exit = &provider.Exit{} })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		first, err := m.Nudge(ctx, "", "first")
		if fault.KindOf(err) != fault.Timeout {
			t.Fatal(err)
		}
		p.change("s", func(s *fakeSession) { s.exit = nil })
		m = started(t, p, dir)
		deliverAll(t, m)
		if n := nudge(t, dir, first.ID); n.Status != conversation.Taken || p.called() != "type Enter" {
			t.Fatalf("%+v, %s", n, p.called())
		}

		// It died while typing. The screen is another now: typed, perhaps.
		edit(t, dir, nudge(t, dir, first.ID), func(n *outbox.Message) { n.Status, n.Before = outbox.Sending, "of another screen" })
		m = started(t, p, dir)
		deliverAll(t, m)
		if n := nudge(t, dir, first.ID); n.Status != conversation.Sent || p.called() != "type Enter" {
			t.Errorf("%+v, %s", n, p.called())
		}
	})
}

// diedSending leaves a message as a process does that dies while it sends it.
func diedSending(t *testing.T, p *fake, dir, id string) {
	t.Helper()
	life, err := p.GetMeta(t.Context(), "s", agent.MetaLife)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, dir, nudge(t, dir, id), func(n *outbox.Message) { n.Status, n.Life = outbox.Sending, life })
}

// The same screen as before the crash, and an agent that takes input: nothing
// was typed.
func TestUntouchedScreenMeansNotSent(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir := t.TempDir()
		p := composing()
		p.onType = func(s *fakeSession, text string) error { return nil } // as if it died right before
		m := startedWith(t, p, dir, hasty)
		n, err := m.Nudge(t.Context(), "", "hello")
		if err != nil || n.Status != conversation.Sent {
			t.Fatalf("%+v, %v", n, err)
		}
		diedSending(t, p, dir, n.ID)
		p.mu.Lock()
		p.onType = composing().onType
		p.mu.Unlock()
		m = started(t, p, dir)
		deliverAll(t, m)
		if got := nudge(t, dir, n.ID); got.Status != conversation.Taken || got.Attempts != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// Nor was anything typed at a plain program, if its terminal shows what is
// typed. One that does not may have read it.
func TestUntouchedScreenWithoutEcho(t *testing.T) {
	for echo, want := range map[bool]outbox.Message{
		true:  {Status: conversation.Taken, Attempts: 2},
		false: {Status: conversation.Sent, Attempts: 1},
	} {
		t.Run(fmt.Sprintf("echo %v", echo), func(t *testing.T) {
			onClockOfItsOwn(t, func(t *testing.T) {
				dir := t.TempDir()
				p := newFake()
				p.input.Echo = echo
				p.onNudge = func(*fakeSession, string) error { return nil } // as if it died right before
				m := startedAs(t, p, dir, hasty, workspace.Hints{})
				n, err := m.Nudge(t.Context(), "", "hello")
				if err != nil || n.Status != conversation.Taken {
					t.Fatalf("%+v, %v", n, err)
				}
				diedSending(t, p, dir, n.ID)
				m = startedAs(t, p, dir, hasty, workspace.Hints{})
				deliverAll(t, m)
				if got := nudge(t, dir, n.ID); got.Status != want.Status || got.Attempts != want.Attempts {
					t.Errorf("%+v, want %s after %d attempts", got, want.Status, want.Attempts)
				}
			})
		})
	}
}

// The same screen as before the crash, but of another start: the agent before
// may have read it.
func TestScreenOfAnotherStartTellsNothing(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		dir := t.TempDir()
		p := composing()
		typed := 0
		p.onType = func(s *fakeSession, text string) error { typed++; return nil }
		m := startedWith(t, p, dir, hasty)
		n, err := m.Nudge(t.Context(), "", "hello")
		if err != nil || n.Status != conversation.Sent {
			t.Fatalf("%+v, %v", n, err)
		}
		diedSending(t, p, dir, n.ID)
		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		m = started(t, p, dir)
		deliverAll(t, m)
		if got := nudge(t, dir, n.ID); got.Status != conversation.Sent || got.Attempts != 1 || typed != 1 {
			t.Errorf("typed %d times: %+v", typed, got)
		}
	})
}

// An agent that is not running any more may have got a message before: what
// may have been submitted is not sent again, and all else is.
func TestUnansweredMessageIsNotSentAgain(t *testing.T) {
	over := fault.Errorf(fault.NotRunning, "over")
	unanswered := fmt.Errorf("%w: %w", over, provider.ErrUnanswered)
	for _, c := range []struct {
		name     string
		composer bool // its text is typed, and Enter pressed behind it
		text     string
		err      error
		again    bool
	}{
		{"line", false, "hello", over, true},
		{"line, unanswered", false, "hello", unanswered, false},
		{"composer", true, "hello", over, true},
		{"composer, unanswered", true, "hello", unanswered, true},
		{"composer, lines, unanswered", true, "hello\nthere", unanswered, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onClockOfItsOwn(t, func(t *testing.T) {
				dir := t.TempDir()
				p := newFake()
				if c.composer {
					p = composing()
				}
				tries, send := 0, p.onType
				fails := func(s *fakeSession, text string) error {
					if tries++; tries == 1 {
						return c.err
					}
					if send != nil {
						return send(s, text)
					}
					return nil
				}
				p.onNudge, p.onType = fails, fails
				hints := workspace.Hints{}
				if c.composer {
					hints = workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}}
				}
				m := startedAs(t, p, dir, hasty, hints)
				n, err := m.Nudge(t.Context(), "", c.text)
				want, wantTries := conversation.Sent, 1
				if c.again {
					want, wantTries = conversation.Taken, 2
				}
				if err != nil || n.Status != want || tries != wantTries {
					t.Errorf("%d tries, %+v, %v; want %d, %s", tries, n, err, wantTries, want)
				}
			})
		})
	}
}

func TestQueueBoundsAndDamage(t *testing.T) {
	dir := t.TempDir()
	q := queue(t, dir)
	if _, err := q.Add("", " \n"); fault.KindOf(err) != fault.Usage {
		t.Errorf("empty: %v", err)
	}
	if _, err := q.Add("", strings.Repeat("x", 5<<20)); fault.KindOf(err) != fault.Usage {
		t.Errorf("long: %v", err)
	}
	n, err := q.Add("", "x")
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, n.ID+".json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := queue(t, dir)
	if got := again.Damaged(); len(got) != 1 || got[0] != bad {
		t.Errorf("damaged: %q", got)
	}
}

// Nudges of many callers come one by one, whole, each once.
func TestNudgesOfManyCallers(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		p := composing()
		m := started(t, p, t.TempDir())
		var work sync.WaitGroup
		for _, text := range strings.Fields("one two three four five six seven eight") {
			work.Go(func() {
				if n, err := m.Nudge(t.Context(), "", "this is number "+text); err != nil || n.Status != conversation.Taken {
					t.Errorf("%+v, %v", n, err)
				}
			})
		}
		work.Wait()
		if got := strings.Count(p.called(), "type"); got != 8 {
			t.Errorf("typed %d times", got)
		}
	})
}

// deliverAll runs the keeper's loop until nothing waits.
func deliverAll(t *testing.T, m *agent.Managed) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	deadline := time.Now().Add(2 * time.Minute)
	for m.PendingNudges() > 0 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if m.PendingNudges() > 0 {
		t.Fatalf("%d still wait", m.PendingNudges())
	}
}

func nudge(t *testing.T, dir, id string) outbox.Message {
	t.Helper()
	n, err := queue(t, dir).Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// edit changes the record of a nudge, as another process would.
func edit(t *testing.T, dir string, n outbox.Message, change func(*outbox.Message)) {
	t.Helper()
	change(&n)
	data, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, n.Key+".json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
