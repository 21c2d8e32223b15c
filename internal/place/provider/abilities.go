package provider

import (
	"context"
	"errors"
	"time"

	"den/internal/base/fault"
)

// The abilities below are not every provider's. Ask with a type assertion. They
// stand by who asks.

// Whoever keeps agents asks what became of their sessions, and tidies up.

// ProcessLister tells which processes a session has on this machine.
type ProcessLister interface {
	// Processes returns the numbers of the session's live processes, none
	// where it has ended or never was.
	Processes(ctx context.Context, name string) ([]int, error)
}

// InHome is a place whose sessions are den's own: every verb of den works on
// them.
type InHome interface {
	// DenSession is a session's name among those of the Home.
	DenSession(name string) string
}

// Pruner is a place where ended sessions leave something behind.
type Pruner interface {
	// PruneOld removes what sessions that ended a while ago left. It may be
	// called while others start and stop.
	PruneOld(ctx context.Context) error
}

// Leaver is a place that keeps something of its own besides sessions.
type Leaver interface {
	// Leave ends that, unless a session is left, anybody's. Nobody else uses
	// the provider meanwhile; it can be used again afterwards.
	Leave(ctx context.Context) error
}

// Whoever starts an agent asks for what its place needs first.

// Preparer is a place that must be made ready before a session can start: an
// image is pulled or built, a volume bound. Preparing may take minutes and says
// nothing of the command, so it is a step of its own with its own time limit.
type Preparer interface {
	// Prepare returns when Start will not have to wait for any of that. It
	// tells progress in lines for people. Preparing again is cheap.
	Prepare(ctx context.Context, name string, c Config, progress func(line string)) error
}

// Imager is a Preparer whose sessions are made from images.
type Imager interface {
	// Image is Prepare, and returns the reference of the image from which a
	// session would be started now. Config.Options can name it: then later
	// changes of what it was built from do not matter.
	Image(ctx context.Context, name string, c Config, progress func(line string)) (ref string, err error)
}

// Away is a place that is not this machine: its working directories are its own.
// So files are staged and hooks are run there, once the place is ready.
type Away interface {
	Preparer
	Away()
}

// Whoever talks with an agent on its screen asks when and how to type.

// OnTerminal is a place whose sessions have a terminal.
type OnTerminal interface {
	// AwaitReady returns when the program waits for its user, or the
	// context's error. fault.NotRunning where it ends first, fault.Unsupported
	// where this system does not let it be known.
	AwaitReady(ctx context.Context, name string) error
	// Attached reports how many people have a terminal joined to the
	// session, and when one of them last typed: zero for never.
	Attached(ctx context.Context, name string) (n int, typed time.Time, err error)
	// Type is Nudge without its Enter.
	Type(ctx context.Context, name, text string) error
	// Title returns the window title that the program set last, "" where it
	// set none. A session that has ended is fault.NotRunning.
	Title(ctx context.Context, name string) (string, error)
}

// A Looker types only at what was seen: a program may draw a dialog at any
// moment, and text and Enter would answer it.
type Looker interface {
	// Look is Peek, and returns the moment of the look.
	Look(ctx context.Context, name string, lines int) (screen string, at Moment, err error)
	// SendAt sends keystrokes, all or none. If the program has written something
	// since the moment it sends none, and the error is ErrChanged; ErrLineHolds
	// is that for a line which is to be empty. It is fault.Unsupported where the
	// session's host cannot tell.
	SendAt(ctx context.Context, name string, at Moment, k Keystrokes) error
}

// Moment is a moment in the life of a session; the zero Moment is any.
type Moment uint64

// Keystrokes are a text, as Type types it, and chords behind it, as SendKeys
// presses them.
type Keystrokes struct {
	Text string
	Keys []string
	// EmptyLine says that nothing may stand in the line which the program edits
	// or will get next.
	EmptyLine bool
}

// The reasons why a Looker sends nothing. Their kind is fault.Busy.
var (
	ErrChanged   error = &fault.Error{Kind: fault.Busy, Err: errors.New("the program has written something since its screen was looked at")}
	ErrLineHolds error = &fault.Error{Kind: fault.Busy, Err: errors.New("its input line holds text that was not sent")}
)
