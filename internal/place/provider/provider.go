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
	"time"
)

// A Provider runs sessions. Its methods may be called concurrently, for one
// session and for many.
type Provider interface {
	Lifecycle
	Query
	Talk
	Metadata
	Utility
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
	Attach(ctx context.Context, name string, t Terminal) error

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
}

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

// Utility is the rest.
type Utility interface {
	// ListRunning returns the names of this owner's running sessions that
	// begin with prefix, sorted. It asks once, not once a session.
	ListRunning(ctx context.Context, prefix string) ([]string, error)

	// GetLastActivity returns when the session last wrote something.
	GetLastActivity(ctx context.Context, name string) (time.Time, error)

	// ClearScrollback forgets what has scrolled away.
	ClearScrollback(ctx context.Context, name string) error

	// CopyTo puts the file or directory src at rel under the session's
	// working directory. It never leaves that directory. A src that is not
	// there is fault.NotFound.
	CopyTo(ctx context.Context, name, src, rel string) error
}

// Config is what a session starts with.
type Config struct {
	Argv    []string          // the command, not through a shell
	WorkDir string            // absolute; must exist
	Env     map[string]string // on top of a small inherited environment
	Cols    int               // 0 means 120
	Rows    int               // 0 means 40

	// Meta is the session's first metadata: whoever finds the session finds
	// it, also where the caller dies in Start.
	Meta map[string]string

	// Options are the provider's own, as its part of the workspace file
	// decodes; nil where it has none.
	Options any
}

// Terminal is a person's terminal: two files of this process, whose size the
// system tells, or streams, whose sizes their owner tells. The end of In is a
// person who left.
type Terminal struct {
	In       io.Reader
	Out      io.Writer
	ReadOnly bool

	Size    Size        // of streams at the beginning; zero means 120x40
	Resizes <-chan Size // of streams from then on; or nil
}

// Size is that of a terminal.
type Size struct{ Cols, Rows int }

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
