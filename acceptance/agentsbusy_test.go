package acceptance

import (
	"context"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A nudge at a real agent whose model is still speaking is not lost, and one
// after an error of the model comes through, too.
func TestRealAgentsBusy(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for name, home := range map[string]func(*testing.T, *modelstub.Server) *realcli.Home{
		"claude": func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
		"codex":  func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
	} {
		t.Run(name, func(t *testing.T) {
			stub := modelstub.Start(t)
			goOn := make(chan struct{})
			stub.When(modelstub.Is("long work please"), modelstub.Reply{Text: []string{"I begin. ", "I am done."}, Hold: goOn})
			stub.Always(modelstub.Contains("fail now"), modelstub.Fail(529))
			stub.Always(modelstub.Contains("ping"), modelstub.Say("pong ", "from the stub"))
			m := manage(t, name, home(t, stub))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			if err := m.Start(ctx, nil); err != nil {
				t.Fatal(err)
			}
			nudge(ctx, t, m, "long work please")
			// Not the words on the screen: claude shows whole lines.
			if _, err := stub.Await(ctx, modelstub.Is("long work please")); err != nil {
				t.Fatal(err)
			}
			nudge(ctx, t, m, "ping meanwhile")
			close(goOn) // claude ends its answer first; codex turns to the new words at once
			awaitScreen(ctx, t, m, "pong from the stub")
			// Not before the turn has ended: codex adds a message that comes in
			// its last moment to the turn, and never asks the model about it.
			awaitTurnEnd(ctx, t, m)
			nudge(ctx, t, m, "fail now")
			if _, err := stub.Await(ctx, modelstub.Contains("fail now")); err != nil {
				t.Fatal(err)
			}
			nudge(ctx, t, m, "ping after all")
			if _, err := stub.Await(ctx, modelstub.Contains("ping after all")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func nudge(ctx context.Context, t *testing.T, m *agent.Managed, text string) {
	t.Helper()
	n, err := m.KeepNudge(ctx, "", text)
	if err == nil {
		n, err = m.DeliverNudge(ctx, n.ID)
	}
	if err != nil || n.Status != conversation.Taken {
		t.Errorf("the nudge %q: %v, %s %s", text, err, n.Status, n.Reason)
	}
}

func awaitTurnEnd(ctx context.Context, t *testing.T, m *agent.Managed) {
	t.Helper()
	for {
		s, err := m.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Activity == conversation.Ready {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func awaitScreen(ctx context.Context, t *testing.T, m *agent.Managed, text string) {
	t.Helper()
	for ctx.Err() == nil {
		screen, err := m.Peek(ctx, 60)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(screen, text) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%q did not come", text)
}
