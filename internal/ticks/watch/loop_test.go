package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// desk is an instance in memory.
type desk struct {
	mu      sync.Mutex // guards the fields below
	paused  string
	causes  []plan.Cause
	ticks   [][]plan.Cause
	told    []string
	outcome plan.Outcome

	changed chan struct{}
	ticked  chan struct{}
	waits   chan struct{} // a decision to wait was told
}

func newDesk() *desk {
	return &desk{outcome: plan.Outcome{Reason: plan.Normal}, changed: make(chan struct{}, 1), ticked: make(chan struct{}, 100), waits: make(chan struct{}, 100)}
}

func (d *desk) put(causes ...plan.Cause) {
	d.mu.Lock()
	d.causes = append(d.causes, causes...)
	d.mu.Unlock()
	d.tell()
}

func (d *desk) pause(why string) {
	d.mu.Lock()
	d.paused = why
	d.mu.Unlock()
	d.tell()
}

func (d *desk) tell() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (d *desk) look() watch.Observed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return watch.Observed{Paused: d.paused, Causes: slices.Clone(d.causes)}
}

func (d *desk) tick(_ context.Context, causes []plan.Cause) (plan.Outcome, bool) {
	d.mu.Lock()
	d.ticks = append(d.ticks, causes)
	if d.outcome.Reason == plan.Normal {
		d.causes = d.causes[len(causes):] // they are acknowledged
	}
	o := d.outcome
	d.mu.Unlock()
	d.ticked <- struct{}{}
	return o, false
}

func (d *desk) run(t *testing.T, p watch.Policy) {
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		watch.Loop(ctx, watch.Options{
			Policy: p, Look: d.look, Changed: d.changed, Tick: d.tick, Clock: time.Now,
			Recall: func() (watch.Memory, error) { return watch.Memory{}, nil }, Remember: func(watch.Memory) error { return errors.New("disk full") },
			Told: func(s string) {
				d.mu.Lock()
				d.told = append(d.told, s)
				d.mu.Unlock()
				if strings.Contains(s, "sleeps") || strings.Contains(s, "paused") || strings.Contains(s, "failed") {
					d.waits <- struct{}{}
				}
			},
		})
	})
	t.Cleanup(func() { cancel(); loop.Wait() })
}

func cause(n int) plan.Cause { return plan.Cause{Kind: plan.ByWake, ID: fmt.Sprint(n)} }

func TestLoopTakesAllCausesAtOnce(t *testing.T) {
	d := newDesk()
	d.pause("by hand")
	d.run(t, watch.Policy{Patrol: time.Hour})
	<-d.waits
	for n := range 10 {
		d.put(cause(n))
	}
	d.pause("") // nothing was consumed meanwhile
	<-d.ticked
	<-d.waits
	d.put(cause(10))
	<-d.ticked
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ticks) != 2 || len(d.ticks[0]) != 10 || len(d.ticks[1]) != 1 {
		t.Errorf("ticks %v", d.ticks)
	}
	if !slices.ContainsFunc(d.told, func(s string) bool { return strings.Contains(s, "disk full") }) {
		t.Errorf("told %q", d.told)
	}
}

// A tick that fails leaves its causes, and the next one waits.
func TestLoopRestsAfterFailure(t *testing.T) {
	d := newDesk()
	d.outcome = plan.Outcome{Reason: plan.Crashed}
	d.put(cause(1))
	d.run(t, watch.Policy{Patrol: time.Hour, FirstRest: time.Millisecond, LongestRest: time.Hour})
	for range 3 { // after 1, 2 and 4 ms
		<-d.ticked
		<-d.waits
	}
}
