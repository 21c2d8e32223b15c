package tick

import (
	"context"
	"log/slog"
	"time"

	"den/internal/agent/runner"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/terminal"
)

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
	// Push hands the repository's commits on, and says what happened. Those of
	// an agent that is confined must not have it run anything.
	Push  func(ctx context.Context, confined bool) string
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
	Began   time.Time
	Took    time.Duration
	Turns   int
	CostUSD float64
	Last    string // words of the agent
	Log     string // the path of the transcript
}

func resultOf(s plan.State, repo *datarepo.Repo) Result {
	return Result{
		Tick: s.Tick, Outcome: s.Outcome, Began: s.Began, Took: s.Elapsed, Turns: s.Turns, CostUSD: s.CostUSD, Last: s.LastText,
		Log: repo.Path() + "/" + datarepo.TickLog(s.Tick),
	}
}
