package tick

import (
	"context"

	"den/internal/ticks/datarepo"
	"den/internal/ticks/hook"
	"den/internal/ticks/plan"
)

// runHooks runs the scripts before or after the tick.
func (t *tick) runHooks(a plan.Action) {
	e := t.hookEvent(hook.Phase(a.Hook), t.s)
	do := func(ctx context.Context) plan.Event {
		t.hooks(ctx, e, a.Skip, func(name string) error {
			t.sendAndWait(plan.Event{Kind: plan.HookStarted, Hook: a.Hook, Name: name})
			return nil // one that cannot be recorded runs all the same
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
func (t *tick) hooks(ctx context.Context, e hook.Event, skip []string, starting func(name string) error) []hook.Result {
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
