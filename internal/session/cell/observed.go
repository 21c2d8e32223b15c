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
	// NoInner is set if nothing is to be typed into shells inside it unasked.
	NoInner bool
}

// plain reports whether the user said nothing of how cells end.
func (p Program) plain() bool { return !p.Hook && p.Prompt == "" }

// marksInner reports whether shells inside it get marks unasked.
func (p Program) marksInner() bool { return p.plain() && !p.NoInner }

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
	Presses     int  // how often
	SincePress  time.Duration
	// LostPress is set if the last press hit the session's own program as it
	// started another, which runs on.
	LostPress bool

	// What ended.
	HookEnded bool
	HookRead  bool // it had read a line, which begins at HookLine and HookCol
	HookLine  int64
	HookCol   int
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
	Typed     bool // the command that the shell runs was begun by no cell
	Drawn     bool // the line left of the cursor has control sequences, as an editor's
	Unusual   bool // text goes elsewhere than in a terminal that no program has changed, or looks other
	// Inside is set only where it matters: see NeedsInside.
	Inside Inside
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
	// lagRest is how long a shell is waited for that is about to do something, as
	// one without a processor on a busy machine.
	lagRest = 10 * time.Second
	// declineRest is how long the prompt must be back behind a question that a
	// shell would have answered.
	declineRest = time.Second
	// answerRest is how long a shell may take to answer it, or to take the code.
	answerRest = 30 * time.Second
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
	case o.Ready && !o.lostMarks() && !o.maybeBare():
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

// Settled reports whether input that no cell typed has taken effect, as far as can
// be told where the kernel does not: the prompt held behind it.
func (o *Observed) Settled() bool { return o.Foreign && o.Shell.Elsewhere() && o.promptHolds() }

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
// reported an end: its prompts have lost their marks, it was replaced by another
// shell, or it reads an answer with its editor (read -e).
func (o *Observed) lostMarks() bool {
	return o.Ready && o.Own && o.Bracket && o.Shell.Last == 'C'
}

// barePrompt reports whether a shell without marks most likely shows its prompt: a
// question would be another text.
func (o *Observed) barePrompt() bool {
	left, shown := o.Left.Text, o.Shell.Shown
	return o.lostMarks() && !o.Shell.Inner && (left == "" || SamePrompt(left, shown) || OtherPath(left, shown))
}

// ignoresInt reports whether the shell made nothing of Ctrl-C, as one that ignores
// the signal, and its input is empty all the same: the terminal that edits it drops
// it, or an editor shows so. Where keys were pressed, an editor does not show all.
// A line that does not begin with the prompt is the rest of a command.
func (o *Observed) ignoresInt() bool {
	if !o.Ready || !o.Own || !o.Shell.Pending() {
		return false
	}
	if o.Shell.NoEditor() {
		return o.Probe.Interrupts && strings.HasPrefix(o.Left.Text, strings.TrimRight(o.Shell.Shown, " "))
	}
	return o.Blank && !o.Stray.Keys
}

// maybeBare reports whether a shell that tells of its prompt alone may have lost
// it: it reads, and shows nothing.
func (o *Observed) maybeBare() bool {
	return o.Own && o.Shell.Silent && !o.Shell.Inner && o.Shell.Pending() && o.Left.Text == ""
}

// redraws reports whether the program has its own editor that may redraw the
// input (irb, ipython): the terminal is in raw mode and the prompt contains a
// number.
func (o *Observed) redraws() bool {
	return !o.Probe.Canonical && strings.ContainsAny(o.Left.Text, "0123456789")
}

// Pauses between two probes: in a flood of output a probe costs more than a
// pass. A shell with marks reports the end itself; then probes only detect
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
	plain := p.plain()
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

// State is the state of a cell between decisions. It is a plain value that
// survives an upgrade.
type State struct {
	Lines   []string `json:"lines,omitempty"`   // what is still to be typed
	Typed   string   `json:"typed"`             // the line that was typed last
	ByShell bool     `json:"by_shell"`          // it was sent at the prompt of a shell with marks
	Prompt  Prompt   `json:"prompt"`            // the program's, when the code was sent
	Learned Prompt   `json:"learned"`           // the program's, for the next cell
	Cleared int      `json:"cleared,omitempty"` // not 0: what stood behind the shell's prompt was dropped, and this many ends tell that it is gone
	Emptied int      `json:"emptied,omitempty"` // or this many reports that the input is empty
	Clears  int      `json:"clears,omitempty"`  // how often that was tried
	Strays  int      `json:"strays,omitempty"`  // inputs of others when it was tried last
	Python  Python   `json:"python,omitzero"`   // what was typed, for Python's REPL
	Drawn   bool     `json:"drawn,omitempty"`   // the program's editor draws its prompt with control sequences
	Bare    bool     `json:"bare,omitempty"`    // the shell has lost its marks: a question may look like its prompt

	Unusual bool `json:"unusual,omitempty"` // the terminal was, when code was typed for a program without marks

	Marking    marking `json:"marking,omitempty"`     // how far it is with the marks of a shell inside the program
	MarkLine   int64   `json:"mark_line,omitempty"`   // of that shell's prompt
	MarkPrompt string  `json:"mark_prompt,omitempty"` // and the prompt
	MarkEnds   int     `json:"mark_ends,omitempty"`   // that were told when it was given the code
	OnlyMarks  bool    `json:"only_marks,omitempty"`  // it has no code: it is there to bring them
}

// Begin returns the initial state of a cell. learned is the program's prompt
// at the end of the last cell.
func Begin(code string, learned Prompt) State {
	return State{Lines: strings.Split(strings.TrimRight(code, "\n"), "\n"), Learned: learned}
}

// keepsScreen reports whether a program that draws the whole screen reads the
// terminal, and no prompt: an editor takes code for keys. A prompt is what the user
// gave, or what ended the last cell of the same program; text may look like one.
func (o *Observed) keepsScreen(p Program, s *State) bool {
	left, learned := o.Left.Text, s.Learned.Text
	switch {
	case !o.AltScreen || p.Hook || o.Shell.Token != "" && !o.Shell.runs():
		return false
	case p.Prompt != "":
		return !strings.HasSuffix(strings.TrimRight(left, " "), p.Prompt)
	case learned == "" || o.Shell.Token != "" && SamePrompt(learned, o.Shell.Shown):
		return true
	}
	return !SamePrompt(left, learned) && !strings.HasSuffix(left, learned) && !OtherPath(left, learned)
}

// asksTyped reports whether a command that somebody typed at the shell's prompt asks
// a question, and code would be the answer: for a secret, as the terminal shows, or
// a line that ends as a question. A program with an editor of its own may be a REPL.
func (o *Observed) asksTyped(p Program, s *State) bool {
	if !p.plain() || !o.Typed || !o.Ready || !o.Probe.Canonical {
		return false
	}
	left := strings.TrimSpace(o.Left.Text)
	known := s.Learned.Text != "" && !SamePrompt(s.Learned.Text, o.Shell.Shown) && SamePrompt(o.Left.Text, s.Learned.Text)
	return !known && (!o.Probe.Echo || left != "" && strings.ContainsRune("?:]", rune(left[len(left)-1])))
}

// isCleared reports whether the shell discarded its input line without a new
// prompt, as fish does.
func (s *State) isCleared(o *Observed) bool {
	return s.Cleared > 0 && o.Shell.Ends >= s.Cleared && o.Shell.Last == 'D' && o.Quiet > promptRest
}

// clearing reports whether the shell has not yet discarded its input.
func (s *State) clearing(o *Observed) bool {
	return s.Cleared > o.Shell.Ends && s.Emptied > o.Shell.Emptied
}

// unclean reports whether the shell's input is not known to be empty. Once the
// shell has discarded it, only what was typed or shown since counts.
func (s *State) unclean(p Program, o *Observed) bool {
	if s.Cleared == 0 {
		return o.stray() || o.Shell.Refused && p.KeepsRefused && !o.Shell.Inner
	}
	return o.Stray.Count != s.Strays && o.stray() || o.Shell.Last == 'P' || o.Shell.Leftover(o.Left.Text)
}

// learn returns the program's prompt. After output without a newline, the text
// left of the cursor is more than the prompt.
func learn(last, left Prompt) Prompt {
	switch {
	case last.Text != "" && left.Text == "": // something printed behind the prompt
		return last
	case last.endsLine(left.Text):
		return last
	}
	return left
}

// endsLine reports whether line is output without a newline followed by the
// prompt.
func (p Prompt) endsLine(line string) bool {
	return p.Text != "" && line != p.Text && strings.HasSuffix(line, p.Text) && !IsContinuation(line, p.Text)
}

// next takes the next line of the code.
func (s State) next() State {
	s.Typed, s.Lines = s.Lines[0], s.Lines[1:]
	s.Python.Add(s.Typed)
	return s
}

// holdsInput reports whether exactly a part of the code is after the prompt:
// the terminal discarded the rest at Ctrl-C, and the program's editor missed
// the signal, as Python's does while it handles a key.
func (s *State) holdsInput(o *Observed) bool {
	typed, ok := strings.CutPrefix(o.Left.Text, s.Prompt.Text)
	typed = strings.TrimSpace(typed)
	return ok && typed != "" && strings.HasPrefix(strings.TrimSpace(s.Typed), typed)
}

// promptBack reports whether the program's prompt stands left of the cursor:
// the same, behind output without a newline, or with another path in it.
func (s *State) promptBack(o *Observed) bool {
	shown, prompt := o.Left.Text, s.Prompt.Text
	return prompt != "" && (SamePrompt(shown, prompt) || strings.HasSuffix(shown, prompt) || OtherPath(shown, prompt))
}

// printed reports whether the program itself printed what looks like its editor's
// prompt.
func (s *State) printed(o *Observed) bool {
	return s.Drawn && !o.Drawn && s.Prompt.Text != "" && (s.known(o) || s.promptBack(o))
}

// known reports whether the text left of the cursor is the program's prompt or
// its continuation prompt.
func (s *State) known(o *Observed) bool {
	return SamePrompt(o.Left.Text, s.Prompt.Text) || IsContinuation(o.Left.Text, s.Prompt.Text)
}

// StrayInput tracks input that no cell typed, the terminal's own replies
// included. Until a shell is known to have consumed it, some of it may stand in
// the shell's input line, or in its editor's state: what the screen shows does
// not tell all (a search, a key that waits for another, vi's command mode). It
// survives an upgrade.
type StrayInput struct {
	Count   int  `json:"count,omitempty"`   // inputs so far
	Pending bool `json:"pending,omitempty"` // some may not be consumed
	Entered bool `json:"entered,omitempty"` // the last one ended with Enter, or with a key that ended a command
	Keys    bool `json:"keys,omitempty"`    // some may have put an editor into another state
	Ends    int  `json:"ends,omitempty"`    // that the shell had reported when it came
}

// Add records one input. entered says that it ended with Enter, keys that it has
// more than text.
func (i *StrayInput) Add(entered, keys bool, ends int) {
	*i = StrayInput{Count: i.Count + 1, Pending: true, Entered: entered, Keys: keys || i.Pending && i.Keys, Ends: ends}
}

// Consumed records that all inputs up to count were consumed.
func (i *StrayInput) Consumed(count int) {
	if i.Count == count {
		i.Pending = false
	}
}

// HalfLine is a line that was typed by no cell, and not entered.
type HalfLine struct {
	Text      string // without what its keys removed
	Keys      bool   // other keys were pressed: what the line holds is not known
	Canonical bool   // the terminal edits it
	Shown     bool   // there was output since
	Behind    bool   // something stands behind the cursor
}

// Empty reports whether nothing was typed since the last Enter.
func (h *HalfLine) Empty() bool { return h.Text == "" && !h.Keys }

// standsHalf reports whether half a line stands in the input of a program
// without marks, whose prompt is known or "". Where that cannot be told it is
// taken for granted: code that is typed behind it would run with it.
func (o *Observed) standsHalf(known string) bool {
	h, left := &o.Half, o.Left.Text
	typed := strings.TrimSpace(h.Text)
	switch {
	case o.hasMarks() || h.Empty():
		return false
	case h.Canonical:
		return true
	case o.AltScreen: // keys are commands there
		return false
	case known != "" && !h.Behind && (SamePrompt(left, known) || OtherPath(left, known)):
		return !h.Shown && typed != "" && !o.Ready // its echo may be on its way
	case known != "" && strings.HasPrefix(left, known), h.Keys, typed == "", strings.Contains(h.Text, "\t"):
		return true
	case !h.Shown && !o.Ready:
		return true
	}
	shown := strings.TrimSpace(left)
	return h.Behind || strings.HasSuffix(shown, typed) || shown != "" && strings.HasSuffix(typed, shown)
}

// hasMarks reports whether a shell with marks reads the terminal.
func (o *Observed) hasMarks() bool { return o.Shell.Token != "" && o.Shell.Last != 'C' }

// strayBetween reports whether the next line of a cell would be typed behind
// something that no cell typed. What a command or the program has read is gone.
func (o *Observed) strayBetween(s *State) bool {
	switch {
	case !s.ByShell || !o.hasMarks():
		return o.standsHalf(s.Prompt.Text)
	case !o.Stray.Pending:
		return false
	case o.Shell.Last != 'B' || o.Shell.Ends == o.Stray.Ends || !o.Blank:
		return true
	}
	// An editor would show what it has. The terminal does not, of half a line.
	return !o.Stray.Entered && (o.Half.Canonical || o.Half.Keys)
}

// stuck reports whether the shell itself, and no command of its own, makes
// nothing of what was typed: Ctrl-S stopped the terminal's output, for example.
func (o *Observed) stuck() bool { return o.Own && o.Quiet > quietRest && o.stray() }

// lags reports whether the shell has not come to what it was told.
func (o *Observed) lags() bool { return o.Own && o.Probe.Runs && o.Quiet < lagRest }

// stray reports whether the shell's input may hold something that no cell
// typed. A line that was entered is gone when the shell has reported an end
// since and shows nothing behind its prompt.
func (o *Observed) stray() bool {
	m := &o.Shell
	switch {
	case m.Token == "" || m.Last == 'C': // there is no shell, or it is not reading
		return false
	case m.Last == 'P' || m.Leftover(o.Left.Text):
		return true
	}
	entered := o.Stray.Entered && m.Ends > o.Stray.Ends && o.Blank
	return o.Stray.Pending && !entered
}
