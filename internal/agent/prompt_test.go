package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/place/provider"
)

// A program that changes its prompt takes messages all the same, and what
// somebody typed behind the new one is still told from it.
func TestPromptChanges(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := realIn(t, p, t.TempDir(), "bash", "--norc")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		defer func() { cancel(); <-done }()
		for _, prompt := range []string{"other> ", "other> (more) ", "ready> "} {
			taken(t, m, "PS1='"+prompt+"'")
			learnt(t, p, m, prompt)
			typed(t, p, m, "half ")
			shows(t, m, prompt+"half")
			n, err := m.KeepNudge(t.Context(), "", "echo on top of $((6*7))")
			if err != nil {
				t.Fatal(err)
			}
			for !strings.Contains(n.Reason, "half") {
				limited, stop := context.WithTimeout(t.Context(), time.Second)
				n, err = m.DeliverNudge(limited, n.ID)
				stop()
				if fault.KindOf(err) != fault.Timeout || n.Status != conversation.Queued {
					t.Fatalf("%q: %s (%s), %v", prompt, n.Status, n.Reason, err)
				}
			}
			if err := p.SendKeys(t.Context(), m.SessionName(), "C-u"); err != nil {
				t.Fatal(err)
			}
			if n, err = m.DeliverNudge(t.Context(), n.ID); err != nil || n.Status != conversation.Taken {
				t.Fatalf("%q: %s (%s), %v", prompt, n.Status, n.Reason, err)
			}
			shows(t, m, "on top of 42")
			if text, err := m.Peek(t.Context(), 50); err != nil || strings.Contains(text, "half echo") {
				t.Errorf("%q: %v: %s", prompt, err, text)
			}
		}
	})
}

func taken(t *testing.T, m *agent.Managed, text string) {
	t.Helper()
	if n, err := m.Nudge(t.Context(), "", text); err != nil || n.Status != conversation.Taken {
		t.Fatalf("%q: %s (%s), %v", text, n.Status, n.Reason, err)
	}
}

func typed(t *testing.T, p provider.Provider, m *agent.Managed, text string) {
	t.Helper()
	if err := p.(provider.OnTerminal).Type(t.Context(), m.SessionName(), text); err != nil {
		t.Fatal(err)
	}
}

// learnt waits until den knows the prompt, where it needs to.
func learnt(t *testing.T, p provider.Provider, m *agent.Managed, prompt string) {
	t.Helper()
	in, err := p.Input(t.Context(), m.SessionName())
	if err != nil {
		t.Fatal(err)
	}
	for known := ""; !in.UnfinishedKnown && known != prompt; {
		if known, err = p.GetMeta(t.Context(), m.SessionName(), "den.prompt"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
