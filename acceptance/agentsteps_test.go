package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/agent"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/screen"
	"den/internal/place/provider/native"
	"den/internal/place/workspace"
	"den/internal/session/home"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// The start of a real agent, step by step, with all that it asks before it
// takes a word: the dialogs of claude come with the cursor on "No".
func TestRealAgentsAsk(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, c := range []struct {
		name, preset string
		home         func(*testing.T, *modelstub.Server) *realcli.Home
		asks         []string // the dialogs, in their order
		late         bool     // some of them come when it looks ready
	}{
		{
			name: "claude", preset: "claude", asks: []string{"trust folder", "API key", "bypass permissions"},
			home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Claude(t, stub) },
		},
		{
			name: "codex", preset: "codex", asks: []string{"trust folder"}, late: true,
			home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "") },
		},
		{
			name: "codex with an old model", preset: "codex", asks: []string{"trust folder", "new model"}, late: true,
			home: func(t *testing.T, stub *modelstub.Server) *realcli.Home { return realcli.Codex(t, stub, "gpt-5.5") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			stub := modelstub.Start(t)
			stub.Always(modelstub.Contains("ping"), modelstub.Say("pong ", "from the stub"))
			m := manage(t, c.preset, c.home(t, stub))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := m.Start(ctx, nil); err != nil {
				t.Fatal(err)
			}
			var answered []string
			for _, s := range m.LastStart() {
				t.Logf("%-20s %-8s %8v %s", s.Name, s.Outcome, s.Duration.Round(time.Millisecond), s.Output)
				if s.Outcome != agent.Done && s.Outcome != agent.Skipped {
					t.Errorf("step %s: %s, %s", s.Name, s.Outcome, s.Output)
				}
				if strings.Contains("dialogs_again ready", s.Name) && s.Output != "" {
					answered = append(answered, strings.Split(s.Output, ", ")...)
				}
			}
			if !slices.Equal(answered, c.asks) && !(c.late && slices.Equal(answered, c.asks[:min(len(answered), len(c.asks))])) {
				t.Errorf("it was answered %q, want %q", answered, c.asks)
			}
			nudge(ctx, t, m, "ping\nin two lines")
			if _, err := stub.Await(ctx, modelstub.Is("ping\nin two lines")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// manage makes an agent of a preset in a native session, in a home of its own.
func manage(t *testing.T, preset string, h *realcli.Home) *agent.Managed {
	t.Helper()
	w := newWorld(t)
	for _, kv := range w.env {
		if key, value, _ := strings.Cut(kv, "="); key == "DEN_RUN_DIR" {
			t.Setenv(key, value) // the provider runs in this process
		}
	}
	initRepository(t, h.Work)
	p, err := native.Open(native.Options{Home: w.home, Owner: "w", Binary: w.den, Version: "test", Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "den.toml")
	if err := os.WriteFile(file, []byte(agentConfig(realAgent{name: preset, approval: "bypass"}, h)), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	config, err := agent.ConfigOf("w", "den-w-"+preset, &ws.Agents[0])
	if err != nil {
		t.Fatal(err)
	}
	nudges, err := outbox.Open(filepath.Join(t.TempDir(), "nudges"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := agent.New(agent.Options{Workspace: "w", Name: preset, Session: "den-w-" + preset, Provider: p, Config: config, Nudges: nudges,
		Timing: screen.Timing{Confirm: time.Minute}}) // for loaded machines
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)        // one slot: the send cannot block
	go func() { ended <- m.Run(ctx) }() // as the keeper does
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		endAgent(t, m, w.home, h)
	})
	return m
}

func endAgent(t *testing.T, m *agent.Managed, root home.Home, h *realcli.Home) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own is over
	defer cancel()
	if t.Failed() {
		screen, err := m.Peek(ctx, 60)
		t.Logf("the screen: %v\n%s", err, screen)
	}
	if err := m.Stop(ctx); err != nil {
		t.Error(err)
	}
	if left := processesOf(h); len(left) > 0 {
		t.Errorf("after the stop there are still %q", left)
		endSessions(t, root)
	}
}
