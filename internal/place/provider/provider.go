// Package provider is the contract for running agents' sessions.
//
// A provider starts a command in a session and reports on it from then on. It
// knows nothing of agents, presets or prompts. Sessions outlive
// the process that started them: any process that opens the same provider
// with the same Owner finds them again.
//
// Three rules hold for every method. A session is named by its exact name:
// "w-1" never means "w-10". What a provider cannot do is fault.Unsupported,
// never a silent nil. And what could not be asked is an error, never "not
// running": whoever keeps agents must not start a second one on a doubt.
package provider

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"den/internal/base/fault"
)

// A Provider runs sessions. Its methods may be called concurrently, for one
// session and for many.
type Provider interface {
	Lifecycle
	Query
	Talk
	Metadata
	Stager
	Execer
}

// Lifecycle begins and ends sessions.
type Lifecycle interface {
	// Start begins a session and returns once the command runs, its record
	// can be found by other processes, and it can be stopped. A name that is
	// running already is fault.Busy, and nothing changes. A session of that
	// name that has ended is replaced. A command that cannot be executed is an
	// error, and leaves nothing behind. What the command does afterwards is
	// not Start's to judge: ask Exit.
	Start(ctx context.Context, name string, c Config) error

	// Stop ends the session with every process that it started, and returns
	// when they are gone. It asks first (hangup, terminate) and then kills.
	// Stopping what does not exist or has ended is nil.
	Stop(ctx context.Context, name string) error

	// Interrupt is a person's Ctrl-C. A session that is not running is
	// fault.NotRunning, one that never was fault.NotFound.
	Interrupt(ctx context.Context, name string) error
}

// Query tells what is true now.
type Query interface {
	// IsRunning reports whether the session's command runs. A session that
	// stands while its command has ended is not running.
	IsRunning(ctx context.Context, name string) (bool, error)

	// ProcessAlive reports whether a process of the session bears one of the
	// names: as its command name, as the base of its first argument, or as
	// the script that an interpreter runs. Without names it is IsRunning.
	ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error)

	// ListRunning returns the names of this owner's running sessions that
	// begin with prefix, sorted. It asks once, not once a session.
	ListRunning(ctx context.Context, prefix string) ([]string, error)

	// Observe returns what is true of this owner's sessions whose names begin
	// with prefix: of those that run, and of those that have ended for as long
	// as they stand. It asks once, not once a session, so that a keeper of
	// hundreds can call it at every patrol.
	Observe(ctx context.Context, prefix string) (map[string]Observation, error)

	// Watch sends what happens to this owner's sessions from the call on,
	// whoever does it, until the context ends; then it closes the channel. One
	// that is closed before means that the place can no longer be asked. Every
	// start and every end is told. Events that a slow receiver has not taken are
	// merged: the newest of each kind stays, in the order in which they happened.
	Watch(ctx context.Context) (<-chan Event, error)

	// Exit returns how the session's command ended, nil while it runs. A
	// session that never was is fault.NotFound.
	Exit(ctx context.Context, name string) (*Exit, error)

	// GetLastActivity returns when the session last wrote something.
	GetLastActivity(ctx context.Context, name string) (time.Time, error)

	// ChangeStamp returns a value that stays the same while the session's
	// program writes nothing, and differs once it has written or another
	// session has taken the name. No program is asked, so a keeper can call
	// it for hundreds of sessions every second. A session that never was is
	// fault.NotFound.
	ChangeStamp(ctx context.Context, name string) (string, error)
}

// Observation is what is true of one session.
type Observation struct {
	Running bool
	Exit    *Exit // nil while it runs
	Meta    map[string]string
}

// ErrUnanswered is wrapped by an error of Talk where the session, or what holds
// it, ended before it answered: it may have got the input.
var ErrUnanswered = errors.New("the request may have been carried out")

// Talk reaches the session's terminal. But for Peek, a session that never was
// is fault.NotFound, one that has ended fault.NotRunning. An error of these
// kinds or of fault.Busy means that nothing was typed, unless it wraps
// ErrUnanswered.
type Talk interface {
	// Attach joins a person's terminal to the session and returns when they
	// detach or the session ends.
	Attach(ctx context.Context, name string, in, out *os.File) error

	// Nudge types text and Enter: whole, alone, byte for byte, as one paste
	// where the program asked for pastes to be marked. A line end in a terminal
	// is Enter; a control character that would not arrive as it is, and empty
	// text, are fault.Usage. Nudges of one session never mix.
	Nudge(ctx context.Context, name, text string) error

	// SendKeys presses chords as den's command line names them ("Enter",
	// "C-c", "Down"), with no Enter of its own. An unknown chord is
	// fault.Usage, and none is sent.
	SendKeys(ctx context.Context, name string, chords ...string) error

	// Peek returns the last lines of the session's text, at most n of them
	// and without blank ones at the end; all that is kept when n is 0. It
	// works after the command has ended, for as long as the session stands.
	// A negative n is fault.Usage.
	Peek(ctx context.Context, name string, n int) (string, error)

	// Input returns what became of the session's input. It is fault.Unsupported
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

// Metadata is a small map beside each session, for whoever keeps it. It is
// the session's own: Start begins with an empty one.
type Metadata interface {
	// SetMeta keeps value under key, to the byte. Keys are checked by
	// CheckKey. A session that does not exist is fault.NotFound, here and in
	// the methods below.
	SetMeta(ctx context.Context, name, key, value string) error
	// GetMeta returns the value, or "" where there is none.
	GetMeta(ctx context.Context, name, key string) (string, error)
	// RemoveMeta forgets the key. One that is not there is nil.
	RemoveMeta(ctx context.Context, name, key string) error
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

// Config is what a session starts with.
type Config struct {
	Argv    []string          // the command, not through a shell
	WorkDir string            // absolute; must exist
	Env     map[string]string // on top of a small inherited environment

	// Meta is the session's first metadata: whoever finds the session finds
	// it, also where the caller dies in Start.
	Meta map[string]string

	// Options are the provider's own, as its part of the workspace file
	// decodes; nil where it has none.
	Options any
}

// CheckText refuses what a paste would not bring to the byte, or what would act as
// keys: an escape could end the paste and type on. At most so many bytes fit.
func CheckText(text string, most int) error {
	switch {
	case text == "":
		return fault.Errorf(fault.Usage, "nudge: the text is empty")
	case len(text) > most:
		return fault.Errorf(fault.Usage, "nudge: %d bytes are too many, %d fit", len(text), most)
	case !utf8.ValidString(text):
		return fault.Errorf(fault.Usage, "nudge: the text is not UTF-8")
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r <= 0x9f {
			return fault.Hintf(fault.Errorf(fault.Usage, "nudge: the text has the control character %U", r), "press keys with SendKeys; leave colours out of text")
		}
	}
	return nil
}

// The size of a session's terminal.
const (
	Cols = 120
	Rows = 40
)

// LastLines returns at most n of the last lines, as Peek does; blank ones at the
// end do not count. 0 means all.
func LastLines(lines []string, n int) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if n > 0 {
		lines = lines[max(0, len(lines)-n):]
	}
	return lines
}

// Exit is how a session's command ended.
type Exit struct {
	Code   int       // 128 and the signal's number where a signal ended it; -1 where it is not known
	Signal string    // such as "SIGKILL", or ""
	At     time.Time // zero where it is not known
	// Place is why the session's place ended it, as when a node sends a pod away;
	// "" where the command ended by itself, or by an order. Such an end says
	// nothing about the command.
	Place string
}

// maxName bounds a session's name, maxKey a key's.
const (
	maxName = 200
	maxKey  = 128
)

// CheckName refuses what no provider takes as a session's name. All else
// works everywhere: a provider whose names are narrower encodes them.
func CheckName(name string) error {
	switch {
	case name == "":
		return fault.Errorf(fault.Usage, "a session needs a name")
	case len(name) > maxName:
		return fault.Errorf(fault.Usage, "session name %.20q…: %d bytes are too many, %d fit", name, len(name), maxName)
	case !utf8.ValidString(name):
		return fault.Errorf(fault.Usage, "session name %q is not UTF-8", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
		return fault.Errorf(fault.Usage, "session name %q: a space or a control character cannot be in it", name)
	}
	return nil
}

// CheckKey refuses what cannot be a metadata key: letters, digits, '_', '-'
// and '.' can.
func CheckKey(key string) error {
	ok := key != "" && len(key) <= maxKey
	for _, r := range key {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
	}
	if !ok {
		return fault.Errorf(fault.Usage, "metadata key %.40q: use 1 to %d letters, digits, '_', '-' or '.'", key, maxKey)
	}
	return nil
}

// Change is what happened to a session.
type Change string

// The changes. More may come: receivers pass over those that they do not know.
const (
	Started Change = "started" // its command runs
	Ended   Change = "ended"   // its command has ended
)

// Event is one change of one session.
type Event struct {
	Name   string
	Change Change
}

// EventQueue holds what a receiver has not taken yet. An event that is in it
// already moves to the end, so it is bounded by the number of sessions and the
// last event of a session is the last that happened to it. The zero value is
// empty. It is not safe for concurrent use.
type EventQueue struct {
	events  []Event
	waiting map[Event]bool
}

// Add puts an event at the end.
func (q *EventQueue) Add(e Event) {
	if q.waiting == nil {
		q.waiting = map[Event]bool{}
	}
	if q.waiting[e] {
		q.events = slices.DeleteFunc(q.events, func(other Event) bool { return other == e })
	}
	q.waiting[e] = true
	q.events = append(q.events, e)
}

// Next returns the first event and the channel to send it to: nil, on which a
// select waits forever, where the queue is empty.
func (q *EventQueue) Next(to chan<- Event) (chan<- Event, Event) {
	if len(q.events) == 0 {
		return nil, Event{}
	}
	return to, q.events[0]
}

// Sent removes the first event.
func (q *EventQueue) Sent() {
	delete(q.waiting, q.events[0])
	q.events = q.events[1:]
}

type latelyKey struct{}

// Lately returns a context for questions that are asked over and over, as for what
// is shown of an agent. A place that is far away, and is told of changes by itself,
// may answer them with what it was told in the last seconds. Nothing is done about
// such an answer that cannot be taken back.
func Lately(ctx context.Context) context.Context {
	return context.WithValue(ctx, latelyKey{}, true)
}

// IsLately reports whether a question may be answered so.
func IsLately(ctx context.Context) bool {
	lately, _ := ctx.Value(latelyKey{}).(bool)
	return lately
}
