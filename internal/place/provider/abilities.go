package provider

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"den/internal/base/fault"
)

// The abilities below are not every provider's. Ask with a type assertion. They
// stand by who asks.

// Whoever keeps agents asks what became of their sessions, and tidies up.

// Postmortem tells how sessions ended.
type Postmortem interface {
	// Exit returns how the session's command ended, nil while it runs. A
	// session that never was is fault.NotFound.
	Exit(ctx context.Context, name string) (*Exit, error)
}

// Watcher tells of changes when they happen.
type Watcher interface {
	// Watch sends what happens to this owner's sessions from the call on,
	// whoever does it, until the context ends; then it closes the channel. One
	// that is closed before means that the place can no longer be asked. Every
	// start and every end is told; other changes where the place tells them by
	// itself. Events that a slow receiver has not taken are merged: the newest
	// of each kind stays, in the order in which they happened.
	Watch(ctx context.Context) (<-chan Event, error)
}

// Observer answers for all sessions at once.
type Observer interface {
	// Observe returns what is true of this owner's sessions whose names begin
	// with prefix: of those that run, and of those that have ended for as long
	// as they stand. It asks once, not once a session, so that a keeper of
	// hundreds can call it at every patrol.
	Observe(ctx context.Context, prefix string) (map[string]Observation, error)
}

// Observation is what is true of one session.
type Observation struct {
	Running bool
	Exit    *Exit // nil while it runs
	Meta    map[string]string
}

// ProcessLister tells which processes a session has on this machine.
type ProcessLister interface {
	// Processes returns the numbers of the session's live processes, none
	// where it has ended or never was.
	Processes(ctx context.Context, name string) ([]int, error)
}

// Titler tells what a session's program has named its window.
type Titler interface {
	// Title returns the window title that the program set last, "" where it
	// set none. A session that has ended is fault.NotRunning.
	Title(ctx context.Context, name string) (string, error)
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

// Stager puts files where a session will run. The order is Prepare, Stage and
// Exec, Start.
type Stager interface {
	// Stage unpacks a tar stream of files, directories and symbolic links
	// below the working directory, which is made where it is missing. Nothing
	// is ever written outside it.
	Stage(ctx context.Context, name string, c Config, files io.Reader, o StageOptions) error
}

// StageOptions say how files are staged.
type StageOptions struct {
	KeepExisting bool              // what is there already stays as it is
	Progress     func(path string) // called before each entry; or nil
}

// Execer runs commands where a session runs, or will run.
type Execer interface {
	// Exec runs a command to its end beside the session: in its place if it
	// runs, else in one that c describes. It returns the exit code, 128 and
	// the signal's number where a signal ended it. A command that could not
	// be run is an error. When the context ends, the command is killed.
	Exec(ctx context.Context, name string, c Config, e ExecSpec) (code int, err error)
}

// ExecSpec is a command beside a session.
type ExecSpec struct {
	Argv   []string
	Dir    string            // "" means the session's working directory
	Env    map[string]string // on top of what there is
	Stdin  io.Reader         // read to its end; or nil
	Stdout io.Writer         // or nil
	Stderr io.Writer         // or nil
}

// OrDiscard is a stream of an ExecSpec, or one that drops what is written.
func OrDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// Assignments are variables as programs get them, KEY=VALUE, sorted by key.
func Assignments(env map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		all = append(all, key+"="+env[key])
	}
	return all
}

// Away is a place that is not this machine: its working directories are its own.
// So files are staged and hooks are run there, once the place is ready.
type Away interface {
	Preparer
	Stager
	Execer
	Away()
}

// Whoever talks with an agent on its screen asks when and how to type.

// Readier knows when a program waits for input.
type Readier interface {
	// AwaitReady returns when the program waits for its user, or the
	// context's error. fault.NotRunning where it ends first, fault.Unsupported
	// where this system does not let it be known.
	AwaitReady(ctx context.Context, name string) error
}

// ChangeStamper tells cheaply whether something happened in a session.
type ChangeStamper interface {
	// ChangeStamp returns a value that stays the same while the session's
	// program writes nothing, and differs once it has written or another
	// session has taken the name. No program is asked, so a keeper can call
	// it for hundreds of sessions every second. A session that never was is
	// fault.NotFound.
	ChangeStamp(ctx context.Context, name string) (string, error)
}

// Audience knows who looks on.
type Audience interface {
	// Attached reports how many people have a terminal joined to the
	// session, and when one of them last typed: zero for never.
	Attached(ctx context.Context, name string) (n int, typed time.Time, err error)
}

// Typer types without pressing Enter.
type Typer interface {
	// Type is Nudge without its Enter.
	Type(ctx context.Context, name, text string) error
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
	ErrChanged   = fault.Errorf(fault.Busy, "the program has written something since its screen was looked at")
	ErrLineHolds = fault.Errorf(fault.Busy, "its input line holds text that was not sent")
)

// InputTeller knows what became of input.
type InputTeller interface {
	// Input returns the state of a session's input. It is fault.Unsupported
	// where this system does not let it be known.
	Input(ctx context.Context, name string) (Input, error)
}

// Input is what is known of a session's input.
type Input struct {
	// Unread counts the bytes that were sent and that the program has not
	// read. In line mode a line counts once it is complete.
	Unread int
	// LineMode says that the terminal hands over whole lines, each of at most
	// MaxLine bytes, and Echo that it shows what is typed.
	LineMode bool
	Echo     bool
	// Unfinished is what was typed into the line that the program edits or
	// will get next, and is not ended by Enter. UnfinishedKnown is false where
	// the provider cannot tell. Unsure says that it knows of keys whose effect on
	// the line it does not know: there may be more than Unfinished.
	Unfinished      string
	UnfinishedKnown bool
	Unsure          bool
	// CursorRow is the text left of the cursor, and CursorRest what stands behind
	// it in its row: "" where that is not known.
	CursorRow  string
	CursorRest string
}

// MaxLine is how many bytes of one line a terminal in line mode hands to its
// program; the kernel drops the rest.
const MaxLine = 4095
