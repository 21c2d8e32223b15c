package tick

import (
	"context"
	"log/slog"
	"time"

	"den/internal/kernel/datarepo"
	"den/internal/kernel/instance"
	"den/internal/kernel/plan"
	"den/internal/kernel/terminal"
	"den/internal/runner"
)

// Options are what ticks of an instance need.
type Options struct {
	*instance.Instance

	// Drivers are the backends, by their names in the configuration.
	Drivers map[string]runner.Driver
	// Spawn starts the runner and the hooks. What it started can be ended
	// after a kill, too.
	Spawn Spawner
	// Place is where the terminals are.
	Place terminal.Place
	// Tools is the program that offers the tools by the Model Context Protocol.
	// The socket is in its environment.
	Tools []string
	// Den is the den binary, for the PATH of the agent.
	Den     string
	Version string
	Getenv  func(string) string

	Log   *slog.Logger
	Clock func() time.Time // for people: records and files
	// Prepare makes the container ready. The warning is why it is not as it
	// should be, and an error that there is none; or nil.
	Prepare func(ctx context.Context) (warning string, err error)
	// Push hands the repository's commits on, and says what happened.
	Push func(ctx context.Context) string
	Who  string // for the lock: "tick", "watch"
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
