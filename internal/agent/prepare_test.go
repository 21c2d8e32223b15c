package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/fault"
	"den/internal/provider"
)

// slowPlace is a provider that must be made ready first.
type slowPlace struct {
	*fake
	left time.Duration // how long Prepare had
	fail error
}

func (p *slowPlace) Prepare(ctx context.Context, _ string, c provider.Config, progress func(string)) error {
	deadline, _ := ctx.Deadline()
	p.left = time.Until(deadline)
	if p.sessions["den-w-dir--a"] != nil || len(c.Argv) == 0 {
		return fault.Errorf(fault.Internal, "prepared too late, or for nothing: %q", c.Argv)
	}
	progress("layer 1 of 2")
	progress("layer 2 of 2")
	return p.fail
}

// Preparing a place comes before the session, and is not bound by the time
// that the agent has for a step.
func TestPrepareHasItsOwnLimit(t *testing.T) {
	p := &slowPlace{fake: newFake()}
	c := agent.SessionConfig{StartupTimeout: time.Minute}
	if err := managed(t, p, c).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.left <= c.StartupTimeout || p.left > agent.PrepareLimit {
		t.Errorf("it had %v", p.left)
	}
	p = &slowPlace{fake: newFake(), fail: fault.Errorf(fault.Unreachable, "no registry")}
	err := managed(t, p, c).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "step prepare: no registry") || !strings.Contains(err.Error(), "layer 2 of 2") {
		t.Errorf("%v", err)
	}
}
