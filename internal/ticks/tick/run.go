package tick

import (
	"context"
	"math"
	"os"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// Run runs one tick to its end, whatever that is. If another process runs one,
// the error is fault.Busy and says who. A tick that an earlier process left is
// completed first. Once a tick has a number, how it went is the Result, and not
// an error. When ctx ends the tick is asked to end, and its end is waited for.
func Run(ctx context.Context, o Options, causes []plan.Cause) (Result, error) {
	lock, err := o.Dir.LockTick(o.holder())
	if err != nil {
		return Result{}, err
	}
	defer lock.Close() // Best effort: the kernel releases it with the process.
	last, err := complete(o)
	if err != nil {
		return Result{}, err
	}
	s, config, err := o.first(causes, last)
	if err != nil {
		return Result{}, err
	}
	lodging, err := o.Lodge(config)
	if err != nil {
		return Result{}, err
	}
	t := open(o, s, config, lodging)
	if err := t.tools.listen(); err != nil {
		return Result{}, err
	}
	// The agent can correct its schedule, and nobody else may look.
	if _, err := o.Look(ctx, o.Clock()); err != nil && ctx.Err() == nil {
		t.tools.notice("Not all that may begin your ticks can be read: " + withHint(err))
	}
	t.work.Go(func() { t.tools.serve(t.ctx) })
	t.work.Go(func() { t.inbox.watch(t.ctx) })
	s = t.run(ctx, func() { t.take(plan.Event{Kind: plan.Start}) })
	return resultOf(s, o.Repo), nil
}

// Complete does what is left of a tick whose process was killed, if there is
// one, and returns how it ended. If a tick runs, it is fault.Busy.
func Complete(o Options) (r Result, found bool, err error) {
	lock, err := o.Dir.LockTick(o.holder())
	if err != nil {
		return Result{}, false, err
	}
	defer lock.Close() // Best effort: the kernel releases it with the process.
	before, _, err := o.Dir.LoadTick(o.Clock())
	if err != nil && fault.KindOf(err) != fault.Storage {
		return Result{}, false, err
	}
	s, err := complete(o)
	return resultOf(s, o.Repo), before.Stage != plan.New && before.Stage != plan.Done, err
}

// complete is Complete for who holds the lock. It returns the last tick.
func complete(o Options) (plan.State, error) {
	s, found, err := o.Dir.LoadTick(o.Clock())
	if err != nil && fault.KindOf(err) == fault.Storage {
		// It is kept aside. What the tick ran is ended when terminals are
		// opened next; its hooks are not run, because it is not known which
		// were.
		o.Log.Error("the last tick cannot be completed", "error", err)
		return plan.State{}, nil
	}
	if err != nil || !found || s.Stage == plan.Done {
		return s, err
	}
	next, actions := plan.Recover(s)
	o.Log.Warn("completing a tick that was cut off", "tick", s.Tick, "stage", s.Stage, "outcome", next.Outcome.String())
	config, lodging, err := o.lodgingOfLast()
	if err != nil {
		return s, err
	}
	t := open(o, next, config, lodging)
	t.base = s.Elapsed
	t.seen = history.LastSign(o.Repo, s.Tick, s.Began.Add(s.Elapsed))
	return t.run(context.Background(), func() { t.performAll(actions) }), nil
}

// lodgingOfLast is where the agent of a tick that was cut off lives. A
// configuration that has been broken meanwhile must not keep it from being
// completed: then its hooks run with the defaults' names.
func (o Options) lodgingOfLast() (datarepo.Config, Lodging, error) {
	config, err := o.Repo.Config()
	if err == nil {
		var lodging Lodging
		if lodging, err = o.Lodge(config); err == nil {
			return config, lodging, nil
		}
	}
	o.Log.Error("the configuration cannot be used", "error", err)
	config = datarepo.DefaultConfig()
	lodging, err := o.Lodge(config)
	return config, lodging, err
}

// Remember keeps how a tick ended, for the rests of watchers.
func (o Options) Remember(r Result, p watch.Policy) error {
	m, err := o.Dir.LoadMemory(o.Clock())
	if err != nil && fault.KindOf(err) != fault.Storage {
		return err
	}
	return o.Dir.SaveMemory(m.After(r.Outcome, p, o.Clock()))
}

func (o Options) holder() watch.Holder {
	return watch.Holder{PID: os.Getpid(), What: o.Who + " " + o.Name, Since: o.Clock()}
}

// first is the state of a new tick: its number, and what it is to do.
func (o Options) first(causes []plan.Cause, last plan.State) (plan.State, datarepo.Config, error) {
	now := o.Clock()
	if err := o.Repo.Prepare(now); err != nil {
		return plan.State{}, datarepo.Config{}, err
	}
	config, err := o.Repo.Config()
	if err != nil {
		return plan.State{}, config, err
	}
	known, told, err := o.Repo.StateForTick(now)
	if err != nil {
		return plan.State{}, config, err
	}
	if told != "" {
		o.Log.Warn(told)
	}
	number := max(known.TickCount, last.Tick) + 1
	query := config.Query(number, o.Repo.Path())
	limits := limitsOf(config.Limits)
	limits.FirstPause = o.Times.FirstPause
	return plan.First(number, now, query, causes, limits), config, nil
}

// limitsOf are the configured limits, in which 0 is none.
func limitsOf(c datarepo.Limits) plan.Limits {
	l := plan.Limits{Wall: c.WallTime, Turns: c.Turns, CostUSD: c.Cost, Rounds: c.Rounds, Window: int64(c.ContextTokens), WarnAt: float64(c.ContextPercent) / 100}
	if l.Wall == 0 {
		l.Wall = 100 * 365 * 24 * time.Hour
	}
	if l.Rounds == 0 {
		l.Rounds = math.MaxInt
	}
	if c.ContextPercent == 0 {
		l.WarnAt = 1
	}
	return l
}
