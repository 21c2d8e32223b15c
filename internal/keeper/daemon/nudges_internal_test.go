package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/place/provider"
)

// typedAt is a place whose sessions run and say nothing: what is typed at one
// is passed to the test, which lets it be typed.
type typedAt struct {
	provider.Provider // nil: nothing else is asked of it
	begun             chan context.Context
	typed             chan error
}

func newTypedAt() *typedAt {
	return &typedAt{begun: make(chan context.Context, 1), typed: make(chan error)}
}

func (p *typedAt) IsRunning(context.Context, string) (bool, error) { return true, nil }
func (p *typedAt) GetMeta(context.Context, string, string) (string, error) {
	return "x", nil
}
func (p *typedAt) GetLastActivity(context.Context, string) (time.Time, error) {
	return time.Time{}, fault.Errorf(fault.Unsupported, "not here")
}
func (p *typedAt) ChangeStamp(context.Context, string) (string, error) {
	return "", fault.Errorf(fault.Unsupported, "not here")
}
func (p *typedAt) Input(context.Context, string) (provider.Input, error) {
	return provider.Input{}, fault.Errorf(fault.Unsupported, "not here")
}
func (p *typedAt) Peek(context.Context, string, int) (string, error) { return "", nil }
func (p *typedAt) Nudge(ctx context.Context, _, _ string) error {
	p.begun <- ctx
	return <-p.typed
}

// nudged is an agent for whom something is queued.
func nudged(t *testing.T, p provider.Provider, name string, queue *outbox.Queue) member {
	t.Helper()
	m, err := agent.New(agent.Options{Name: name, Session: name, Provider: p, Config: agent.SessionConfig{Command: []string{"x"}}, Nudges: queue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.KeepNudge(t.Context(), "", "hello"); err != nil {
		t.Fatal(err)
	}
	return member{Managed: m, key: name}
}

// delivers is a keeper that delivers, and a change of its agents. Its end is
// waited for.
func delivers(t *testing.T, members ...member) (change func(...member), end func(error)) {
	t.Helper()
	d := &daemon{plan: newPlan("w")}
	change = func(members ...member) {
		all := map[string]member{}
		for _, m := range members {
			all[m.key] = m
		}
		d.plan.mu.Lock()
		defer d.plan.mu.Unlock()
		close(d.plan.at.replaced)
		d.plan.at.members, d.plan.at.replaced = all, make(chan struct{})
	}
	change(members...)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.deliver(ctx) }()
	return change, func(why error) { cancel(why); <-done }
}

func emptyQueue(t *testing.T) *outbox.Queue {
	t.Helper()
	q, err := outbox.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// An agent that takes long to be typed at keeps no other waiting, also when its
// configuration changes meanwhile; and nothing is typed at it twice at a time.
func TestSlowNudgeHoldsUpNobody(t *testing.T) {
	slow, quick, queue := newTypedAt(), newTypedAt(), emptyQueue(t)
	change, end := delivers(t, nudged(t, slow, "slow", queue))
	<-slow.begun
	change(nudged(t, slow, "slow", queue), nudged(t, quick, "quick", emptyQueue(t)))
	select {
	case <-quick.begun:
	case <-slow.begun:
		t.Error("two type at the slow one")
	case <-time.After(2 * time.Minute):
		t.Error("nothing is typed at the quick one")
	}
	close(quick.typed)
	close(slow.typed)
	<-slow.begun // the second message, by the new configuration
	end(nil)
}

// When the workspace goes down, what is typed at an agent is not waited for; a
// keeper that only ends itself types it to its end.
func TestDownCutsOffANudge(t *testing.T) {
	for name, tt := range map[string]struct {
		why  error
		cut  bool
		note string
	}{
		"down":     {errDown, true, "the agent ended while it was typed"},
		"a signal": {context.Canceled, false, "nobody can tell here what the program reads"},
	} {
		t.Run(name, func(t *testing.T) {
			p, queue := newTypedAt(), emptyQueue(t)
			_, end := delivers(t, nudged(t, p, "a", queue))
			typing := <-p.begun
			ended := make(chan struct{})
			go func() { defer close(ended); end(tt.why) }()
			if tt.cut {
				<-typing.Done()
				if err := typing.Err(); !errors.Is(err, context.Canceled) {
					t.Errorf("it ended by itself: %v", err)
				}
			}
			close(p.typed)
			<-ended
			if got := queue.List()[0].Reason; got != tt.note {
				t.Errorf("what became of it: %q, want %q", got, tt.note)
			}
		})
	}
}
