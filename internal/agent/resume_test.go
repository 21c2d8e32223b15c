package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/agent"
	"den/internal/place/workspace"
)

// A start that was cut off is gone on with where it was, or begun anew where
// the user's commands had begun or its configuration has changed.
func TestStartIsResumed(t *testing.T) {
	const session = "den-w-dir--a"
	for name, tt := range map[string]struct {
		starting string // what was kept of the start; "same" is of the present configuration
		setup    string
		first    string // the step that it goes on with
		ran      string // the user's commands
	}{
		"before anything was kept":   {"", "", agent.StepPreStart, "pre setup"},
		"before the user's commands": {"same", "", agent.StepDialogs, "setup"},
		"among the user's commands":  {"same", "begun", agent.StepPreStart, "pre setup"},
		"before the nudge":           {"same", "done", agent.StepNudge, ""},
		"changed meanwhile":          {`{"v":1,"hash":"another"}`, "done", agent.StepPreStart, "pre setup"},
	} {
		t.Run(name, func(t *testing.T) {
			onClockOfItsOwn(t, func(t *testing.T) {
				p := newFake()
				p.onStart = func(s *fakeSession) { s.screen = "> " }
				order := filepath.Join(t.TempDir(), "order")
				m := managed(t, p, agent.SessionConfig{Nudge: "go on", Hints: workspace.Hints{
					ReadyPromptPrefix: "> ", PreStart: []string{"echo pre >> " + order}, SessionSetup: []string{"echo setup >> " + order},
				}})
				if tt.starting == "same" {
					tt.starting = m.Fingerprint().String()
				}
				p.sessions[session] = &fakeSession{screen: "> ", meta: map[string]string{agent.MetaStarting: tt.starting, agent.MetaSetup: tt.setup, agent.MetaLife: "one"}}
				if unfinished, err := m.StartUnfinished(t.Context()); err != nil || !unfinished {
					t.Errorf("unfinished: %v, %v", unfinished, err)
				}
				if err := m.Start(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if first := m.LastStart()[0].Name; first != tt.first {
					t.Errorf("it went on with %s, want %s", first, tt.first)
				}
				ran, _ := os.ReadFile(order) // none where none ran
				if got := strings.Join(strings.Fields(string(ran)), " "); got != tt.ran {
					t.Errorf("ran %q, want %q", got, tt.ran)
				}
				if unfinished, err := m.StartUnfinished(t.Context()); err != nil || unfinished {
					t.Errorf("afterwards unfinished: %v, %v", unfinished, err)
				}
				if again := m.Start(t.Context(), nil); again == nil {
					t.Error("an agent that runs was started again")
				}
			})
		})
	}
}
