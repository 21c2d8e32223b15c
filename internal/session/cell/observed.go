package cell

import (
	"strings"
	"time"

	"den/internal/process/pty"
)

// Program describes how a session was started, as far as it matters to cells.
type Program struct {
	Prompt string // by which the user says that cells end, or ""
	Hook   bool   // a program of the user's says when a cell has ended
	// KeepsRefused is set if its editor keeps refused code.
	KeepsRefused bool
}

// Prompt is a prompt and the column after it.
type Prompt struct {
	Text string `json:"text"`
	Col  int    `json:"col"`
}

// Observed holds the observations of a cell and its program at one moment.
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

	// Results of a probe; zero if there was none.
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
	Heard     bool // output came since the last line of it was typed
	Foreign   bool // there was input that no cell typed, and the program was not seen at rest since
	Stray     StrayInput
	Half      HalfLine
	Inputs    int  // counts inputs that no cell typed
	Blank     bool // the cursor stands where the shell's input begins, and nothing behind it
	Bracket   bool // pastes are put in brackets
	AltScreen bool
	// CursorHidden is set by menus, which show where they are in another way.
	CursorHidden bool
}

// How long a program must be silent if the kernel cannot tell whether it
// waits.
const (
	promptRest = 100 * time.Millisecond  // at a prompt that is known
	quietRest  = 1500 * time.Millisecond // when nothing is known
	beginRest  = 10 * time.Second        // before it printed anything
	// goneRest bounds the time between a program's exit and the hang-up of its
	// terminal. A program that is not found for longer still runs, but is
	// hidden from den.
	goneRest = 3 * quietRest
	// timerRest is how long a program that waits for the terminal and its own
	// timers must not have run at a known prompt. An editor may pause briefly
	// between a key and drawing it (irb).
	timerRest = 2 * time.Millisecond
	// clearRest is how long a shell may take to discard its input line before
	// Ctrl-C is pressed again.
	clearRest = 200 * time.Millisecond
)

// How long a program must have waited for the terminal and its own timers to
// be considered asking.
const (
	askStanding = 300 * time.Millisecond // without a thread of it having run
	askTicking  = time.Second            // whatever it did in between
)

// IsAsking reports whether a program that waits for the terminal and its own
// timers most likely asks a question: it has not run for standing, and has
// done nothing else for ticking.
func IsAsking(standing, ticking time.Duration) bool {
	return standing > askStanding || ticking > askTicking
}

// asks reports whether a program that waits for the terminal and its own timers
// asks a question. A program that merely pauses (await in Node) may read the
// terminal meanwhile, but shows nothing to answer: the cursor stands at the
// margin, or behind a line that does not end as a question does. Such a line is
// taken for one only when it has stood for long.
func (o *Observed) asks() bool {
	return o.Asking && (o.CursorHidden || endsAsQuestion(o.Left.Text) || o.Left.Text != "" && o.Quiet > quietRest)
}

// Sure returns how sure it is that the program waits for what the cell tells.
func (o *Observed) Sure() string {
	switch {
	case o.Ready:
		return Exact
	case o.CursorHidden || endsAsQuestion(o.Left.Text):
		return Likely
	}
	return Guess
}

// stands reports whether what the terminal shows has stood for a while, of a
// program of which the kernel cannot tell. What stood before the program heard
// of the last line says nothing: an echo may come late (ssh).
func (o *Observed) stands() bool {
	return o.Probe.State == pty.Unknown && o.Heard && o.Quiet > promptRest
}

// Told reports whether the shell's marks suffice to decide without a probe.
func (o *Observed) Told() bool {
	return o.Shell.AtPrompt() && (o.ShellEnded || !o.Sent) && !o.Foreign
}

// promptHolds reports whether the shell's prompt is final. After foreign input
// that requires that the kernel reports the shell idle, or that nothing was
// printed for a while: some shells run helpers at the prompt (fish generates
// completions).
func (o *Observed) promptHolds() bool {
	typed := o.ShellEnded && o.Shell.Last == inputPending // somebody else, at the prompt behind the command
	if !o.Shell.AtPrompt() && !typed {
		return false
	}
	works := o.Own && o.Probe.State == pty.Busy
	return !o.Foreign || o.Ready || o.Quiet > quietRest || o.Quiet > 2*promptRest && !works
}

// readsWithoutPrompt reports whether the shell reads the next command and its
// prompt does not show, as behind `exec 2>/dev/null`.
func (o *Observed) readsWithoutPrompt() bool {
	return o.Shell.Last == 'D' && o.Ready && o.Own && o.Quiet > promptRest
}

// takesCode reports whether code can be sent now.
func (o *Observed) takesCode(cleared bool) bool {
	if o.Shell.Token != "" && o.Shell.Last == 0 {
		return o.Ready // a shell that has yet to show its first prompt
	}
	unknown := o.Probe.State == pty.Unknown
	switch {
	case o.promptHolds() || o.Ready || cleared:
		return true
	case o.Shell.AtPrompt(): // about to change
		return false
	case o.Left.Text == "" && o.Line == 0: // nothing was printed ever: it may be about to begin (ssh that connects)
		return unknown && o.Quiet > beginRest
	case o.Left.Text == "":
		return unknown && o.Quiet > 2*quietRest
	case o.Standing > timerRest && !o.Probe.Canonical:
		return true
	}
	return unknown && o.Quiet > promptRest
}

// lostMarks reports whether the shell is editing a line without having
// reported an end: its prompts have lost their marks, or it was replaced by
// another shell.
func (o *Observed) lostMarks() bool {
	return o.Ready && o.Own && o.Bracket && o.Shell.Last == 'C'
}

// redraws reports whether the program has its own editor that may redraw the
// input (irb, ipython): the terminal is in raw mode and the prompt contains a
// number.
func (o *Observed) redraws() bool {
	return !o.Probe.Canonical && strings.ContainsAny(o.Left.Text, "0123456789")
}

// Pauses between two probes: in a flood of output a probe costs more than a
// turn. A shell with marks reports the end itself; then probes only detect
// questions, and begin after tellPause.
const (
	floodPause = time.Millisecond
	tellPause  = 20 * time.Millisecond
	// breath is how long a program is not probed after output: most likely
	// more follows.
	breath      = 150 * time.Microsecond
	breathAgain = 50 * time.Microsecond
	// ProbePause is the pause between the two probes that must agree.
	ProbePause = 250 * time.Microsecond
)

// ProbeAfter returns how long to wait before the next probe; 0 means now. ago
// is the time since the last probe.
func ProbeAfter(p Program, o Observed, s State, ago time.Duration) time.Duration {
	plain := !p.Hook && p.Prompt == ""
	switch {
	case plain && o.Told():
		return floodPause
	case plain && o.Sent && s.ByShell && !(o.ShellEnded && o.Shell.AtPrompt()) && o.Quiet < tellPause:
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
