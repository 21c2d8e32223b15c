package controller

import (
	"context"
	"time"

	"den/internal/place/provider"
)

// Subject is one agent as the controller handles it. The controller calls one
// method of a subject at a time, but for Peek, and none of them may act on
// another agent.
type Subject interface {
	// Key is what the state knows the agent by, from Controller.Keys; unlike
	// the name it stays when the agent moves to another directory.
	Key() string
	Name() string     // qualified, for people
	Session() string  // its session's name
	Provider() string // the kind of provider where it runs, for people
	// Place differs where a session of the same name is another session:
	// nothing of it is found there that was started elsewhere.
	Place() string
	// Identity differs where anything of the configuration does: one that
	// failed and was changed is another one.
	Identity() string

	// Running reports whether the agent runs. "Could not ask" is an error.
	Running(ctx context.Context) (bool, error)
	// Start brings the agent up, whole, and leaves its fingerprint with it. A
	// session in which the agent does not run any more makes room. A start that
	// was cut off is finished, or begun anew. It gives the slot back while it
	// only waits for its place to be made ready.
	Start(ctx context.Context, slot *Slot) error
	// StartUnfinished reports whether the running agent's start was cut off.
	StartUnfinished(ctx context.Context) (bool, error)
	// Stop ends it with all its processes.
	Stop(ctx context.Context) error
	// Interrupt is Ctrl-C.
	Interrupt(ctx context.Context) error

	// Drift returns what makes the running agent differ from what it should
	// be, nil for nothing. Hints that only the keeper reads are no drift.
	Drift(ctx context.Context) ([]string, error)
	// Held says why the agent must be left alone now: a person is at its
	// terminal, or it asks one for a decision. "" for no reason.
	Held(ctx context.Context) (string, error)
	// Drain asks the agent to finish its work, Undrain takes that back, and
	// Drained reports whether it has.
	Drain(ctx context.Context, why string) error
	Undrain(ctx context.Context) error
	Drained(ctx context.Context) (bool, error)

	// Activity is when it last wrote something; zero if that is not known.
	Activity(ctx context.Context) (time.Time, error)
	// Ready reports whether it waits for input; false if that is not known.
	Ready(ctx context.Context) bool
	// Exit is how it ended, nil if that is not known.
	Exit(ctx context.Context) (*provider.Exit, error)
	// LastText is the end of its text, for records: without its secrets.
	LastText(ctx context.Context, lines int) (string, error)
}

// Seer is a subject whose end is news to people, unless they wanted it: that an
// interrupt ended it is no failure then.
type Seer interface {
	// Seen notes that somebody knows how the agent is.
	Seen(now time.Time) error
}

// Reporter is a subject that can tell how its last start went, step by step.
type Reporter interface {
	// StartStep returns the step that is under way, "" for none.
	StartStep() string
	// StartReport returns what is worth knowing, nil for nothing.
	StartReport() map[string]string
}
