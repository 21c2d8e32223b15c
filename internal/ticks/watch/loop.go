package watch

import (
	"context"
	"time"

	"den/internal/ticks/plan"
)

// Options make a Loop.
type Options struct {
	Policy Policy
	// Look reads the instance. It changes nothing.
	Look func() Observed
	// Changed tells that it makes sense to look again. A token that finds the
	// channel full is not needed: a look that is to come sees what it would
	// have told.
	Changed <-chan struct{}
	// Tick runs one tick to its end and returns how it ended. If somebody else
	// began one meanwhile, held is true and nothing was done.
	Tick func(ctx context.Context, causes []plan.Cause) (o plan.Outcome, held bool)
	// Recall reads what is remembered, which a tick by hand or a person changes,
	// too, and Remember records it. Errors are told, and do not stop the loop.
	Recall   func() (Memory, error)
	Remember func(Memory) error
	// Told hears each decision that differs from the one before, and errors.
	Told  func(string)
	Clock func() time.Time
}

// Loop looks, decides and ticks until the context ends. A tick that runs then
// ends by the same context.
func Loop(ctx context.Context, o Options) {
	var m Memory
	told, recorded := "", true
	for ctx.Err() == nil {
		if recorded {
			recalled, err := o.Recall()
			if err != nil {
				o.Told("recall how the last ticks ended: " + err.Error())
			}
			m = recalled
		}
		d := Decide(o.Look(), m, o.Policy, o.Clock())
		if d.Why != told {
			told = d.Why
			o.Told(d.Why)
		}
		if !d.Tick {
			await(ctx, o, d.Again)
			continue
		}
		outcome, held := o.Tick(ctx, d.Causes)
		if held {
			await(ctx, o, o.Clock().Add(o.Policy.Patrol))
			continue
		}
		told = "" // the next decision is told even if it is the same
		m = m.After(outcome, o.Policy, o.Clock())
		err := o.Remember(m)
		if recorded = err == nil; !recorded { // it counts all the same: a full disk must not hide failures
			o.Told("remember how the tick ended: " + err.Error())
		}
	}
}

// await returns when it makes sense to look again. It never waits longer than a
// patrol: a clock that is set, or a change that nobody told of, is found then.
func await(ctx context.Context, o Options, again time.Time) {
	wait := o.Policy.Patrol
	if !again.IsZero() {
		wait = min(wait, max(0, again.Sub(o.Clock())))
	}
	Await(ctx, o.Changed, wait)
}

// Await returns when something changed, after a time, or when the context ends.
func Await(ctx context.Context, changed <-chan struct{}, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
}
