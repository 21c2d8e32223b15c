package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"den/internal/keeper"
)

// unprepared is a start that failed before there was anything of the agent.
type unprepared struct{ error }

func (unprepared) PrepareFailed() bool { return true }

// An image that cannot be pulled is tried for again and again. It is never
// counted as a failed start of the agent.
func TestPrepareFailureIsNoFailedStart(t *testing.T) {
	p := newPlace()
	p.fail = unprepared{errors.New("no registry")}
	m := member(p, "a", "1")
	c, _ := keep(t, t.TempDir(), p, m)
	until(t, c, "a", func(s keeper.AgentStatus) bool { return p.started() > 2*m.Policy.MaxRestarts })
	p.set(func() { p.fail = nil })
	until(t, c, "a", is(keeper.Running))
	got := types(t, c, "a")
	if !slices.Contains(got, keeper.EventPrepareFailed) || slices.Contains(got, keeper.EventStartFailed) || slices.Contains(got, keeper.EventQuarantined) {
		t.Errorf("events %v", got)
	}
}

// Agents that wait for their images take no slot from others.
func TestPrepareTakesNoSlot(t *testing.T) {
	slow, quick := newPlace(), newPlace()
	slow.pulling, slow.pulled = make(chan struct{}), make(chan struct{})
	var members []Member
	for i := range maxStarting {
		members = append(members, member(slow, fmt.Sprintf("slow%d", i), "1"))
	}
	c, _ := keep(t, t.TempDir(), slow, members...)
	for range maxStarting {
		<-slow.pulling // all of them prepare now
	}
	c.Apply(append(members, member(quick, "quick", "1")))
	until(t, c, "quick", is(keeper.Running))
	close(slow.pulled)
	for i := range maxStarting {
		until(t, c, fmt.Sprintf("slow%d", i), is(keeper.Running))
	}
}
