package agent_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// A session that stands while the agent's process is gone is not the agent:
// it is not running, and the next start puts the agent in its place.
func TestRealSessionWithoutItsAgent(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		m := real(t, p, agent.SessionConfig{
			Command: []string{"sh", "-c", "./worker 1000; exec cat"},
			Hints:   workspace.Hints{ProcessNames: []string{"worker"}, PreStart: []string{"cp /bin/sleep ./worker"}},
		})
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		running, err := m.IsRunning(t.Context())
		if err != nil || !running {
			t.Fatalf("running %v, %v", running, err)
		}
		if err := m.Interrupt(t.Context()); err != nil { // ends the worker, not the shell
			t.Fatal(err)
		}
		for deadline := time.Now().Add(2 * time.Minute); running; {
			if running, err = m.IsRunning(t.Context()); err != nil || time.Now().After(deadline) {
				t.Fatalf("its process has ended: running %v, %v", running, err)
			}
		}
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatalf("a start in the place of what is left: %v", err)
		}
		if running, err := m.IsRunning(t.Context()); err != nil || !running {
			t.Errorf("after the second start: running %v, %v", running, err)
		}
		if err := m.Start(t.Context(), nil); fault.KindOf(err) != fault.Busy {
			t.Errorf("a third start: %v", err)
		}
	})
}

// A start whose named process never comes is a failed one, and says so.
func TestRealProcessThatNeverComes(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		c := agent.SessionConfig{Command: []string{"cat"}, WorkDir: t.TempDir(), StartupTimeout: 10 * time.Second,
			Hints: workspace.Hints{ProcessNames: []string{"worker"}}}
		m, err := agent.New(agent.Options{Workspace: "w", WorkspaceFile: filepath.Join(c.WorkDir, "den.toml"), Name: "a", Session: "den-w-a", Provider: p, Config: c, Nudges: queue(t, t.TempDir()), Timing: quick})
		if err != nil {
			t.Fatal(err)
		}
		var failed *agent.StartError
		if err := m.Start(t.Context(), nil); !errors.As(err, &failed) || failed.Step().Name != agent.StepAlive || !strings.Contains(err.Error(), "called worker") {
			t.Fatalf("%v", err)
		}
		if running, err := p.IsRunning(t.Context(), "den-w-a"); err != nil || running {
			t.Errorf("its session was left: %v, %v", running, err)
		}
	})
}
