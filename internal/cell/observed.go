package cell

import (
	"strings"
	"time"

	"den/internal/pty"
)

// Program is what a session was started with, as far as it matters to cells.
type Program struct {
	Prompt string // by which the user says that cells end, or ""
	Hook   bool   // a program of the user's says when a cell has ended
	// KeepsRefused says that its editor keeps code that it refused.
	KeepsRefused bool
}

// Prompt is a prompt and the column behind it.
type Prompt struct {
	Text string `json:"text"`
	Col  int    `json:"col"`
}

// Observed is what is known of a cell and its program at one moment.
type Observed struct {
	// What callers did.
	Sent        bool // the code, or its first line
	Pressed     bool // somebody interrupts the cell
	Interrupted bool // and Ctrl-C was sent

	// What ended.
	HookEnded bool
	Exited    bool // the program, with ExitCode
	ExitCode  int

	// What the shell says.
	Shell      ShellMarks
	ShellEnded bool // the command

	// What the kernel says. All of it is zero while it was not asked.
	Ready    bool // two probes agree, with nothing between
	Probe    pty.Readiness
	Own      bool          // the probe is about the session's own program, not one that it started
	Asking   bool          // it waits for the terminal and for timers, and has done nothing else for a while
	Standing time.Duration // how long it has waited so without a thread of it having run

	// What the terminal shows.
	Left      Prompt // what stands left of the cursor
	Line      int64  // of the cursor, counted from the start
	Quiet     time.Duration
	Answered  bool // output came since the code was sent
	Foreign   bool // there was input that no cell typed, and the program was not seen at rest since
	Bracket   bool // pastes are put in brackets
	AltScreen bool
}

// How long a program that the kernel cannot tell of must be silent.
const (
	promptRest = 100 * time.Millisecond  // at a prompt that is known
	quietRest  = 1500 * time.Millisecond // when nothing is known
	// goneRest is how long it may take until the end of a program that is not
	// found any more is known; after that it is there, but cannot be seen.
	goneRest = 3 * quietRest
	// timerRest is how long a program that waits for the terminal and for
	// timers of its own must have stood still at a prompt that is known: an
	// editor may pause for a moment between a key and what it draws (irb).
	timerRest = 2 * time.Millisecond
	// clearRest is how long a shell may take to drop what stands behind its
	// prompt, before it is told again.
	clearRest = 200 * time.Millisecond
)

// How long a program that waits for the terminal and for timers of its own must
// have done so to be taken for asking.
const (
	askStanding = 300 * time.Millisecond // without a thread of it having run
	askTicking  = time.Second            // whatever it did in between
)

// IsAsking reports whether a program that waits for the terminal and for timers
// of its own most likely asks something. It has stood still that long, and done
// nothing else that long.
func IsAsking(standing, ticking time.Duration) bool {
	return standing > askStanding || ticking > askTicking
}

// Told reports whether the shell says enough to decide without the kernel.
func (o *Observed) Told() bool {
	return o.Shell.atPrompt() && (o.ShellEnded || !o.Sent) && !o.Foreign
}

// promptHolds reports whether the shell's prompt is final. Behind input that no
// cell typed that is so once the kernel says that the shell rests, or when
// nothing more came for a while: beside some shells others work at the prompt
// (fish makes completions).
func (o *Observed) promptHolds() bool {
	if !o.Shell.atPrompt() {
		return false
	}
	works := o.Own && o.Probe.State == pty.Busy
	return !o.Foreign || o.Ready || o.Quiet > quietRest || o.Quiet > 2*promptRest && !works
}

// takesCode reports whether the program takes code now.
func (o *Observed) takesCode(cleared bool) bool {
	if o.Shell.Token != "" && o.Shell.Last == 0 {
		return o.Ready // a shell that has yet to show its first prompt
	}
	unknown := o.Probe.State == pty.Unknown
	switch {
	case o.promptHolds() || o.Ready || cleared:
		return true
	case o.Shell.atPrompt(): // about to change
		return false
	case o.Left.Text == "": // it may not have begun (ssh that connects)
		return unknown && o.Quiet > 2*quietRest
	case o.Standing > timerRest && !o.Probe.Canonical:
		return true
	}
	return unknown && o.Quiet > promptRest
}

// lostMarks reports whether the shell itself edits a line and told of no end:
// its prompts have lost their marks, or another shell is in its place.
func (o *Observed) lostMarks() bool {
	return o.Ready && o.Own && o.Bracket && o.Shell.Last == 'C'
}

// redraws reports whether the program has an editor of its own that may draw
// its input again (irb, ipython): its prompt counts, in a terminal that does
// not edit for it.
func (o *Observed) redraws() bool {
	return !o.Probe.Canonical && strings.ContainsAny(o.Left.Text, "0123456789")
}

// The pauses between two looks at the kernel: in a flood a probe costs more than
// a turn of output. Where a shell tells of the end it is asked only for
// questions, and not before tellPause.
const (
	lookPause = time.Millisecond
	tellPause = 20 * time.Millisecond
	// breath is how long a program that has just written something is left
	// alone: most likely it goes on.
	breath      = 150 * time.Microsecond
	breathAgain = 50 * time.Microsecond
	// ProbePause is the pause between the two probes that must agree.
	ProbePause = 250 * time.Microsecond
)

// ProbeAfter returns how long to wait before the kernel is asked again, 0 for
// now. The last probe was that long ago.
func ProbeAfter(p Program, o Observed, s State, ago time.Duration) time.Duration {
	plain := !p.Hook && p.Prompt == ""
	switch {
	case plain && o.Told():
		return lookPause
	case plain && o.Sent && s.ByShell && !(o.ShellEnded && o.Shell.atPrompt()) && o.Quiet < tellPause:
		return tellPause - o.Quiet
	}
	if wait := breath - o.Quiet; wait > 0 {
		return max(wait, breathAgain)
	}
	if o.Quiet < ago { // it wrote since: what was seen then is old
		return 0
	}
	return max(0, ProbePause-ago)
}
