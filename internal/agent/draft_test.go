package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/screen"
	"den/internal/place/provider"
	"den/internal/testkit/need"
)

// A nudge waits while something stands in the line, whichever keys brought it
// there, and is never merged with it.
func TestNudgeIsNotMergedWithWhatKeysLeft(t *testing.T) {
	long := "true " + strings.Repeat("x", 300) // wraps
	shell := func(file string) string { return "echo whole >>" + file }
	python := func(file string) string { return fmt.Sprintf("open(%q, 'a').write('whole')", file) }
	for _, c := range []struct {
		name    string
		command []string
		text    func(file string) string
		first   string   // a line before
		keys    []string // at the empty line
		shows   string   // then
		free    string   // what empties the line
	}{
		{"bash, from the history", []string{"bash", "--norc"}, shell, "true one", []string{"Up"}, "ready> true one\nready> true one", "C-c"},
		{"bash, a long line", []string{"bash", "--norc"}, shell, long, []string{"Up"}, strings.Repeat("x", 80), "C-c"},
		{"bash, at the start", []string{"bash", "--norc"}, shell, "true one", []string{"x", "y", "Home"}, "ready> xy", "C-k"},
		{"bash, a search", []string{"bash", "--norc"}, shell, "true one", []string{"C-r", "t"}, "reverse-i-search)`t': true one", "C-c"},
		{"bash, a completion", []string{"bash", "--norc"}, shell, "true one", []string{"e", "c", "h", "Tab", "x"}, "ready> echo x", "C-u"},
		{"bash without marks", []string{"env", "bash", "--norc"}, shell, "true one", []string{"Up"}, "ready> true one\nready> true one", "C-u"},
		{"bash without marks, at the start", []string{"env", "bash", "--norc"}, shell, "true one", []string{"x", "y", "C-a"}, "ready> xy", "C-k"},
		{"python", []string{"python3", "-q"}, python, "1", []string{"Up"}, ">>> 1\n1\n>>> 1", "C-u"},
	} {
		t.Run(c.name, func(t *testing.T) {
			need.Program(t, c.command[0])
			onReal(t, func(t *testing.T, p provider.Provider) {
				line := newRealLine(t, p, c.command)
				if err := p.Nudge(t.Context(), line.SessionName(), c.first); err != nil {
					t.Fatal(err)
				}
				line.waits(t, p)
				if err := p.SendKeys(t.Context(), line.SessionName(), c.keys...); err != nil {
					t.Fatal(err)
				}
				shows(t, line.Managed, c.shows)
				file := filepath.Join(t.TempDir(), "ran")
				if _, err := line.KeepNudge(t.Context(), "mine", c.text(file)); err != nil {
					t.Fatal(err)
				}
				line.nudgeWaits(t)
				if err := p.SendKeys(t.Context(), line.SessionName(), c.free); err != nil {
					t.Fatal(err)
				}
				line.nudgeIsTaken(t)
				if got := awaitFile(t, file); got != "whole" {
					t.Errorf("%q was run", got)
				}
			})
		})
	}
}

// In canonical mode keys are text that the terminal holds.
func TestNudgeIsNotMergedWithKeysInLineMode(t *testing.T) {
	onNative(t, func(t *testing.T, p provider.Provider) {
		line := newRealLine(t, p, []string{"cat"})
		if err := p.SendKeys(t.Context(), line.SessionName(), "Up"); err != nil {
			t.Fatal(err)
		}
		shows(t, line.Managed, "^[[A")
		if _, err := line.KeepNudge(t.Context(), "mine", "whole"); err != nil {
			t.Fatal(err)
		}
		line.nudgeWaits(t)
		if err := p.SendKeys(t.Context(), line.SessionName(), "C-u"); err != nil {
			t.Fatal(err)
		}
		line.nudgeIsTaken(t)
		shows(t, line.Managed, "whole\nwhole")
	})
}

// realLine is an agent with a line, and its queue.
type realLine struct {
	*agent.Managed
	queue *outbox.Queue
	over  chan error
}

// newRealLine starts an agent, and what delivers its nudges.
func newRealLine(t *testing.T, p provider.Provider, command []string) realLine {
	t.Helper()
	l := realLine{queue: queue(t, t.TempDir()), over: make(chan error, 1)}
	var err error
	l.Managed, err = agent.New(agent.Options{Workspace: "w", Name: "a", Session: "den-w-a", Provider: p, Nudges: l.queue,
		Timing: screen.Timing{Quiet: 100 * time.Millisecond, Patience: time.Minute, Confirm: time.Minute},
		Config: agent.SessionConfig{Command: command, WorkDir: t.TempDir(), StartupTimeout: time.Minute, Env: values(map[string]string{"PS1": "ready> "})}})
	if err == nil {
		err = l.Start(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { l.over <- l.Run(ctx) }()
	l.lineIsKnown(t, p)
	t.Cleanup(func() {
		cancel()
		if err := <-l.over; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

// lineIsKnown waits until den knows what the empty line looks like, where it
// has to.
func (l realLine) lineIsKnown(t *testing.T, p provider.Provider) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(5 * time.Millisecond) {
		in, err := p.Input(t.Context(), l.SessionName())
		if err != nil {
			t.Fatal(err)
		}
		if prompt, err := p.GetMeta(t.Context(), l.SessionName(), "den.prompt"); err == nil && prompt != "" || in.UnfinishedKnown {
			return
		}
	}
	t.Fatal("it is never known")
}

// waits waits until the program waits for input.
func (l realLine) waits(t *testing.T, p provider.Provider) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := p.(provider.OnTerminal).AwaitReady(ctx, l.SessionName()); err != nil {
		t.Fatal(err)
	}
}

// nudgeWaits waits until the nudge "mine" waits because of the line.
func (l realLine) nudgeWaits(t *testing.T) {
	t.Helper()
	l.nudge(t, func(m outbox.Message) bool {
		return strings.Contains(m.Reason, "input line") && m.Status == conversation.Queued
	})
}

func (l realLine) nudgeIsTaken(t *testing.T) {
	t.Helper()
	l.nudge(t, func(m outbox.Message) bool { return m.Status == conversation.Taken })
}

// nudge waits until the nudge is as it should be.
func (l realLine) nudge(t *testing.T, ok func(outbox.Message) bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(5 * time.Millisecond) {
		m, err := l.queue.Get("mine")
		if err != nil {
			t.Fatal(err)
		}
		if ok(m) {
			return
		}
		if m.Status.Final() {
			text, _ := l.Peek(t.Context(), 50) // Best effort: for the message.
			t.Fatalf("%s (%s) on\n%s", m.Status, m.Reason, text)
		}
	}
	m, _ := l.queue.Get("mine")        // Best effort: for the message.
	text, _ := l.Peek(t.Context(), 50) // Best effort: likewise.
	t.Fatalf("it stays %s (%s) on\n%s", m.Status, m.Reason, text)
}
