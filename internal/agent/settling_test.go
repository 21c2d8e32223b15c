package agent_test

import (
	"context"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
)

// A program that is no coding agent is looked at two seconds after its start,
// not when its keeper looks at all others: hundreds may still come up then.
func TestFirstLookComesAfterTheStart(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		ready := make(chan time.Time, 1)
		m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: newFake(), Nudges: queue(t, t.TempDir()), Timing: quick,
			Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir()},
			OnState: func(s conversation.State) {
				if s.Activity == conversation.Ready {
					ready <- time.Now()
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- m.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if after := (<-ready).Sub(started); after < 1900*time.Millisecond || after > 2500*time.Millisecond {
			t.Errorf("its state was told %v after its start", after)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
