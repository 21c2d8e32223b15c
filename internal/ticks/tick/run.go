package tick

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"os"
	"time"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/terminal"
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
	l.Wall = cmp.Or(l.Wall, 100*365*24*time.Hour)
	l.Rounds = cmp.Or(l.Rounds, math.MaxInt)
	if c.ContextPercent == 0 {
		l.WarnAt = 1
	}
	return l
}

// Options are what ticks of an instance need.
type Options struct {
	*instance.Instance

	// Drivers are the backends, by their names in the configuration.
	Drivers map[string]runner.Driver
	// Spawn starts the runner, on this machine. What it started can be ended
	// after a kill, too.
	Spawn Spawner
	// Lodge tells where the agent lives, by its configuration. It is asked for
	// each tick, and starts nothing.
	Lodge func(c datarepo.Config) (Lodging, error)
	// Tools is the program that offers the tools by the Model Context Protocol.
	// The socket is in its environment.
	Tools []string
	// Den is the den binary, for the PATH of the agent.
	Den     string
	Version string
	Getenv  func(string) string

	Log   *slog.Logger
	Clock func() time.Time // for people: records and files
	// Push hands the repository's commits on, and says what happened, and whether
	// they should have gone and did not. Those of an agent that is confined must
	// not have it run anything.
	Push  func(ctx context.Context, confined bool) (told string, problem bool)
	Who   string // for the lock: "tick", "watch"
	Times Times
}

// Times are those that no configuration has. Where one is 0 it is the default.
type Times struct {
	HookLimit  time.Duration // of one hook
	FirstPause time.Duration // before what failed is tried again
	Lasting    time.Duration // for how long files must be wrong before a watcher tells
}

// Lodging is where an agent lives: its terminals and its hooks are there.
type Lodging struct {
	Place terminal.Place
	Hooks Spawner // or nil: Options.Spawn
	// Prepare makes it ready for a tick. The warning is why it is not as it
	// should be, and an error that there is none; or nil.
	Prepare  func(ctx context.Context) (warning string, err error)
	Confined bool // it is a container
}

// Spawner is a runner.Spawner that can clean up behind a process that was
// killed.
type Spawner interface {
	runner.Spawner
	Clean(ctx context.Context) (int, error)
}

// Result is how a tick ended.
type Result struct {
	Tick    int
	Outcome plan.Outcome
	Took    time.Duration
	Turns   int
	CostUSD float64
	Last    string // words of the agent
	Log     string // the path of the transcript
}

func resultOf(s plan.State, repo *datarepo.Repo) Result {
	return Result{
		Tick: s.Tick, Outcome: s.Outcome, Took: s.Elapsed, Turns: s.Turns, CostUSD: s.CostUSD, Last: s.LastText,
		Log: repo.Path() + "/" + datarepo.TickLog(s.Tick),
	}
}
