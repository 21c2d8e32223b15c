package cli

import (
	"context"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
)

// reachLimit is how long a keeper may take to answer, and to tell that it has
// begun what it was asked for: it takes milliseconds unless the machine is
// overloaded. A user's time limit is for what comes then, so that a short one
// does not end the call before anybody knows whether the keeper was asked.
const reachLimit = 30 * time.Second

// A task is what a keeper is asked for and then does, whoever stops waiting.
type task struct {
	method string
	params any

	reach   time.Duration // for the keeper to answer, and then to tell that it has begun
	unknown string        // what nobody knows if it was asked and tells nothing, as in "whether it goes down"

	limit time.Duration // for the end, from the begin
	late  error         // why the wait ended then
}

// patience is how long to wait for the begin of a task: a keeper of an older
// den tells only of the end.
func patience(limit duration) time.Duration { return max(time.Duration(limit), reachLimit) }

// perform has the workspace's keeper do something and waits for the end.
func (a *app) perform(ctx context.Context, t task, result any) error {
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	c, err := reachKeeper(ctx, p, t.reach)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was answered, or nobody waits any more.
	return t.ask(ctx, p, c, result)
}

// reachKeeper connects to a workspace's keeper within a time.
func reachKeeper(ctx context.Context, p keeper.StateDir, limit time.Duration) (*keeper.Client, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := p.Dial(within, build.Version)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, noAnswer(p, "nothing was sent to it")
	}
	return c, err
}

// ask sends the task to a keeper and waits for the end.
func (t task) ask(ctx context.Context, p keeper.StateDir, c *keeper.Client, result any) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.AfterFunc(t.reach, func() { cancel(noAnswer(p, t.unknown+" is not known")) })
	defer begin.Stop()
	err := c.Perform(within, t.method, t.params, result, func() {
		begin.Stop()
		time.AfterFunc(t.limit, func() { cancel(t.late) }) // no effect behind the end
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return context.Cause(within)
	}
	return err
}

// noAnswer is the error of a keeper that runs and does not answer.
func noAnswer(p keeper.StateDir, consequence string) error {
	return fault.Hintf(fault.Errorf(fault.Timeout, "the keeper of %s does not answer: %s", p.Config, consequence), "its log is %s", p.Log())
}
