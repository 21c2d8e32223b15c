// Package tui is the dashboard in a terminal: sessions at the left, the screen
// of the selected one at the right, its time below.
//
// The interface itself is one value that bubbletea's loop changes. What takes
// time runs in the goroutines of a pump, which [Run] owns and awaits: each
// does one thing, sees only the newest request, and sends its answer into the
// loop. A slow terminal therefore skips screens and holds nothing up.
package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"den/internal/base/fault"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
)

// Options is what the interface needs of the world.
type Options struct {
	Model   *dashboard.Model
	In      *os.File // a terminal
	Out     io.Writer
	Environ []string         // decides the colours
	Now     func() time.Time // for ages
	All     bool             // begin with the sessions that are over, too
	Select  string           // the name or id of the session to begin with, or empty
	Self    string           // the id of the session that this runs in, which is not shown, or empty
	// Decide carries out a way to decide what waits, by its id, and says what
	// came of it. Or nil: nothing is decided here.
	Decide func(ctx context.Context, id string, way int, words string) (string, error)
	// Agents asks for the workspace's agents: nil without an error where there
	// is no workspace. Or nil: none are shown.
	Agents func(context.Context) (*Workspace, error)
	// Nights asks for the agents that sleep and wake, or is nil: none are shown.
	Nights func(context.Context) ([]Night, error)
}

// Run shows the dashboard until its user quits or ctx ends. It leaves the
// terminal as it found it.
func Run(ctx context.Context, o Options) error {
	work, stop := context.WithCancel(ctx)
	p := newPump(o.Model)
	program := tea.NewProgram(newUI(o, p),
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithoutSignalHandler(), // ctx ends by signal
	)
	p.start(work, program.Send)
	if o.Agents != nil {
		p.work.Go(func() { p.askAgents(work, o.Agents, program.Send) })
	}
	if o.Nights != nil {
		p.work.Go(func() { p.askNights(work, o.Nights, program.Send) })
	}
	_, err := program.Run()
	stop()
	p.wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return fault.Hintf(fault.Errorf(fault.Internal, "show the dashboard: %w", err), "'den dashboard -j' prints the sessions without a terminal")
	}
	return nil
}
