package tick

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"time"

	"den/internal/ticks/datarepo"
	"den/internal/ticks/hook"
	"den/internal/ticks/plan"
)

// count has the data repository know of the tick.
func (t *tick) count(ctx context.Context) plan.Event {
	err := t.o.Repo.EditState(ctx, func(s *datarepo.State) error {
		s.TickCount = max(s.TickCount, t.number)
		s.LastTick = t.began
		s.FirstTickDate = cmp.Or(s.FirstTickDate, t.began.Local().Format(time.DateOnly))
		return nil
	})
	if err == nil {
		err = t.o.Repo.ClearTmp()
	}
	if err != nil {
		return plan.Event{Kind: plan.Broken, Problem: err.Error()}
	}
	t.o.Log.Info("tick begins", "tick", t.number, "runner", t.config.Runner)
	t.report("index the tick", t.index.Begin())
	t.transcript.begin()
	return plan.Event{Kind: plan.Begun}
}

// prepare makes the place ready in which the agent's terminals and hooks run.
func (t *tick) prepare(ctx context.Context) plan.Event {
	if t.lodging.Prepare == nil {
		return plan.Event{Kind: plan.Prepared}
	}
	t.live("prepare the container")
	warning, err := t.lodging.Prepare(ctx)
	if err != nil {
		return plan.Event{Kind: plan.Prepared, Problem: withHint(err), Unusable: true}
	}
	if warning != "" {
		t.o.Log.Warn("the container is not as it should be", "why", warning)
	}
	t.tools.notice(warning)
	return plan.Event{Kind: plan.Prepared, Problem: warning}
}

// ackCauses has the triggers and wakes not begin another tick. Notifications
// are acknowledged by themselves.
func (t *tick) ackCauses(causes []plan.Cause) {
	var wakes []string
	for _, c := range causes {
		switch c.Kind {
		case plan.ByWake:
			wakes = append(wakes, c.ID)
		case plan.ByTrigger:
			if removed, err := t.o.Repo.AcknowledgeTrigger(c.ID); err != nil || !removed {
				t.o.Log.Warn("the trigger stays and begins another tick", "error", err)
			}
		}
	}
	if len(wakes) > 0 {
		t.report("note the wakes that were answered", t.o.Wakes.Acknowledge(context.Background(), t.o.Clock(), wakes...))
	}
}

// check gathers what keeps the tick from ending.
func (t *tick) check(ctx context.Context, s plan.State) plan.Event {
	c := plan.Check{LoggedIn: t.tools.loggedIn()}
	if c.LoggedIn {
		c.Live = t.tools.live()
		c.Issues = t.issues(ctx, s)
	}
	return plan.Event{Kind: plan.Checked, Check: c}
}

// close ends whatever runs for the tick, also what a process of it started that
// was killed.
func (t *tick) close() plan.Event {
	t.cancel()
	t.mind.abort()
	t.work.Wait()
	t.mind.closing.Wait()
	t.mind.close()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := t.tools.close(ctx); err != nil {
		t.o.Log.Error("close the terminals", "error", err)
	}
	t.sweep(ctx, "the runner", t.o.Spawn)
	if t.lodging.Hooks != nil {
		t.sweep(ctx, "hooks", t.lodging.Hooks)
	}
	return plan.Event{Kind: plan.Closed}
}

// sweep ends what was started and is left.
func (t *tick) sweep(ctx context.Context, whose string, s Spawner) {
	n, err := s.Clean(ctx)
	if err != nil {
		t.o.Log.Error("end what "+whose+" left", "error", err)
	} else if n > 0 {
		t.o.Log.Warn("ended processes that "+whose+" left", "count", n)
	}
}

// closeLimit bounds the end of all terminals.
const closeLimit = 2 * time.Minute

// finish writes down how the tick ended. Each part is tried whatever became of
// the others.
func (t *tick) finish(s plan.State) plan.Event {
	now := t.o.Clock()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	t.transcript.end(s)
	t.report("index the tick", t.index.End(s, now, t.seen))
	if s.Outcome.Pauses() {
		p := datarepo.Pause{When: now, Why: s.Outcome.Why, Tick: s.Tick, Todo: s.Outcome.Advice}
		t.report("pause the agent", t.o.Repo.Pause(p))
	}
	if s.Outcome.Reason != plan.Normal && s.Outcome.Reason != plan.Interrupted {
		_, err := t.o.Repo.NotifyCrash(ctx, now, crashOf(s))
		t.report("leave a note of the failure", err)
	}
	t.report("record the end of the tick", t.o.Repo.EditState(ctx, func(known *datarepo.State) error {
		known.TickCount = max(known.TickCount, s.Tick)
		known.LastTickEnd = now
		return nil
	}))
	t.o.Log.Info("tick ended", ending(s)...)
	return plan.Event{Kind: plan.Finished}
}

// ending is what the log says of the end of a tick. What nobody told is left
// out: it is not 0.
func ending(s plan.State) []any {
	told := []any{"tick", s.Tick, "outcome", s.Outcome.String(), "turns", s.Turns}
	if s.Replies > 0 {
		told = append(told, "replies", s.Replies)
	}
	if s.Context.Tokens > 0 {
		told = append(told, "tokens", s.Context.Tokens)
	}
	if s.Context.Window > 0 {
		told = append(told, "window", s.Context.Window)
	}
	if s.CostUSD > 0 {
		told = append(told, "cost_usd", s.CostUSD)
	}
	return told
}

// crashOf is the note of a tick that did not end well. Numbers, as those of the
// tick and of seconds, make no other failure of one that comes again.
func crashOf(s plan.State) datarepo.Crash {
	return datarepo.Crash{
		Text: fmt.Sprintf("Tick %d ended: %s", s.Tick, s.Outcome),
		Same: numbers.ReplaceAllString(s.Outcome.String(), "#"),
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

func (t *tick) report(what string, err error) {
	if err != nil {
		t.o.Log.Error(what, "error", err)
	}
}

// push hands the repository's commits on.
func (t *tick) push() plan.Event {
	if t.o.Push != nil {
		switch told, problem := t.o.Push(context.Background(), t.lodging.Confined); {
		case problem:
			t.o.Log.Warn(told)
		case told != "":
			t.o.Log.Info(told)
		}
	}
	return plan.Event{Kind: plan.Pushed}
}

// clean removes what only this tick needed.
func (t *tick) clean() plan.Event {
	t.report("empty tmp", t.o.Repo.ClearTmp())
	return plan.Event{Kind: plan.Cleaned}
}

// runHooks runs the scripts before or after the tick.
func (t *tick) runHooks(a plan.Action) {
	e := t.hookEvent(hook.Phase(a.Hook), t.s)
	do := func(ctx context.Context) plan.Event {
		t.hooks(ctx, e, a.Skip, func(name string) { // one that cannot be recorded runs all the same
			t.sendAndWait(plan.Event{Kind: plan.HookStarted, Hook: a.Hook, Name: name})
		})
		return plan.Event{Kind: plan.HooksEnded, Hook: a.Hook}
	}
	if a.Hook == plan.HookPostTick {
		t.conclude(func() plan.Event { return do(context.Background()) })
		return
	}
	t.begin(do)
}

// issues are what the hooks before the end print.
func (t *tick) issues(ctx context.Context, s plan.State) []string {
	return hook.Issues(t.hooks(ctx, t.hookEvent(hook.PreStop, s), nil, nil))
}

func (t *tick) hookEvent(phase hook.Phase, s plan.State) hook.Event {
	return hook.Event{
		Phase: phase, Prefix: t.config.HookEnvPrefix, Tick: s.Tick, LastMessage: s.LastText, SessionID: s.Session,
		Duration: t.elapsed(), Log: t.o.Repo.Path() + "/" + datarepo.TickLog(s.Tick),
		Normal: s.Outcome.Status() == plan.StatusNormal, Reason: string(s.Outcome.Reason),
	}
}

// hooks runs the scripts of a phase. One that fails is told, and does not stop
// the others. starting is called before each; or nil.
func (t *tick) hooks(ctx context.Context, e hook.Event, skip []string, starting func(name string)) []hook.Result {
	results, problems := hook.Runner{Files: t.o.Repo, Spawn: t.hookSpawner(), Limit: t.o.Times.HookLimit, Skip: skip, Starting: starting}.Run(ctx, e)
	for _, err := range problems {
		t.hookFailed(err.Error())
	}
	for _, r := range results {
		if failure := r.Failure(); failure != "" && ctx.Err() == nil {
			t.hookFailed(failure)
		}
	}
	return results
}

// hookSpawner starts hooks where the agent lives.
func (t *tick) hookSpawner() Spawner {
	if t.lodging.Hooks != nil {
		return t.lodging.Hooks
	}
	return t.o.Spawn
}

// hookFailed tells people, and the agent's own tools.
func (t *tick) hookFailed(why string) {
	t.o.Log.Warn("a hook failed", "why", why)
	_, err := t.o.Repo.NotifyCrash(context.Background(), t.o.Clock(), datarepo.Crash{Text: why, Beside: true})
	t.report("leave a note of a hook that failed", err)
}
