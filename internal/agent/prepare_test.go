package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/provider"
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
	if err := managed(t, p, c).Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if p.left <= c.StartupTimeout || p.left > agent.PrepareLimit {
		t.Errorf("it had %v", p.left)
	}
	p = &slowPlace{fake: newFake(), fail: fault.Errorf(fault.Unreachable, "no registry")}
	err := managed(t, p, c).Start(t.Context(), nil)
	var failed *agent.StartError
	if !errors.As(err, &failed) || !failed.PrepareFailed() {
		t.Errorf("%v is no failure to prepare", err)
	}
	if err == nil || !strings.Contains(err.Error(), "step prepare: no registry") || !strings.Contains(err.Error(), "layer 2 of 2") {
		t.Errorf("%v", err)
	}
}

// countedSlot knows whether it is held.
type countedSlot struct{ held bool }

func (s *countedSlot) Take(context.Context) error { s.held = true; return nil }
func (s *countedSlot) GiveBack()                  { s.held = false }

// slotPlace is a provider that notes whether the slot was held when it was
// prepared and when its session began.
type slotPlace struct {
	*slowPlace
	slot                *countedSlot
	preparing, starting bool
}

func (p *slotPlace) Prepare(ctx context.Context, name string, c provider.Config, progress func(string)) error {
	p.preparing = p.slot.held
	return p.slowPlace.Prepare(ctx, name, c, progress)
}

func (p *slotPlace) Start(ctx context.Context, name string, c provider.Config) error {
	p.starting = p.slot.held
	return p.slowPlace.Start(ctx, name, c)
}

// An image that is pulled keeps nobody else from starting.
func TestPrepareHoldsNoSlot(t *testing.T) {
	p := &slotPlace{slowPlace: &slowPlace{fake: newFake()}, slot: &countedSlot{held: true}}
	if err := managed(t, p, agent.SessionConfig{}).Start(t.Context(), p.slot); err != nil {
		t.Fatal(err)
	}
	if p.preparing || !p.starting || !p.slot.held {
		t.Errorf("held while preparing: %v, while starting: %v, afterwards: %v", p.preparing, p.starting, p.slot.held)
	}
}
