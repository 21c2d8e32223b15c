package daemon

import (
	"slices"
	"testing"

	"den/internal/agent/runner/drivers"
	"den/internal/place/workspace"
)

// The harness specification says how hard claude thinks where the file does not.
func TestThinking(t *testing.T) {
	for _, c := range []struct{ backend, said, want string }{{"claude", "", "medium"}, {"claude", "high", "high"}, {"codex", "", ""}, {"codex", "low", "low"}} {
		if got := thinking(&workspace.Agent{Channel: workspace.Channel{Backend: c.backend, Thinking: c.said}}); got != c.want {
			t.Errorf("%s, %q: %q", c.backend, c.said, got)
		}
	}
}

// Every agent that may judge can be driven, and is told how it is started.
func TestSupervision(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "copilot", "acp", "script"} {
		ws := &workspace.Workspace{Supervisor: workspace.Supervisor{Agent: agent, Model: "m", Command: []string{"judge"}}}
		s := supervision(ws)
		if s.Backend != agent || s.Model != "m" || !slices.Equal(s.Command, []string{"judge"}) {
			t.Errorf("%s: %+v", agent, s)
		}
		if drivers.All[agent] == nil {
			t.Errorf("no driver for %s", agent)
		}
	}
	for _, s := range []workspace.Supervisor{{}, {Agent: "claude"}, {Agent: "rules"}} {
		if got := supervision(&workspace.Workspace{Supervisor: s}); got.Backend != "" {
			t.Errorf("%+v: %+v", s, got)
		}
	}
}
