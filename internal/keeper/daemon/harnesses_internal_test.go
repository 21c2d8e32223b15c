package daemon

import (
	"slices"
	"testing"

	"den/internal/agent/runner/drivers"
	"den/internal/place/workspace"
)

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
