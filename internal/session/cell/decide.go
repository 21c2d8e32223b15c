package cell

import (
	"strings"

	"den/internal/process/pty"
)

// Decide decides what to do next for a cell. It is a pure function; the
// returned state applies once the action has been carried out.
//
// The end of a cell is detected by the most reliable source that applies: a
// hook, the program's end, a given prompt, the shell's marks, the kernel, a
// learned prompt, silence, in this order.
func Decide(p Program, o Observed, s State) (Action, State) {
	a, next := decide(p, &o, s)
	if a.Do == Type && !next.ByShell { // what a shell with marks leaves is settled
		next.Unusual = s.Unusual || o.Unusual
	}
	if a.Do == End && (a.By == ByReady || a.By == ByPrompt) {
		a.Likely = a.Likely || s.Unusual || o.Unusual
	}
	more := a.Do == Type && !a.First
	switch {
	case more && o.Pressed:
		return Action{Do: End, Take: a.Take, Status: Failed, By: ByInt}, s
	case more && o.strayBetween(&s):
		return Action{Do: Refuse, Take: a.Take, Status: Failed, By: ByRefusal}, s
	case a.Do == End || !o.Sent || !o.Interrupted:
	case o.LostPress:
		return pressAgain(&o, s)
	case a.Do == Tell && a.WaitingFor != "" && o.SincePress < promptRest:
		return Action{Do: Wait}, s // the signal may still be on its way
	}
	return a, next
}

func decide(p Program, o *Observed, s State) (Action, State) {
	switch {
	case o.HookEnded:
		return Action{Do: End, Status: Done, By: ByHook, Take: takeAtHook(o)}, s
	case o.Exited:
		return Action{Do: End, Status: Done, By: ByExit, HasExit: true, ExitCode: o.ExitCode, Take: takeAtExit(o, &s)}, s
	case !o.Sent:
		return decideFirst(p, o, s)
	case p.Hook:
		switch {
		case o.Ready && len(s.Lines) > 0:
			return typeNext(o, s, Take{})
		case o.Ready && o.Interrupted: // the output that the hook looks for need not come any more
			return decideInterrupted(p, o, s)
		}
		return Action{Do: Wait}, s // the hook decides
	case p.Prompt != "":
		return decideGiven(p, o, s)
	case o.Interrupted && o.Ready && (!s.ByShell || o.lostMarks()):
		return decideInterrupted(p, o, s)
	case o.ShellEnded:
		return decideShellEnded(o, s)
	case s.ByShell:
		return decideShell(o, s)
	}
	return decideOther(o, s)
}

// decideFirst decides for a cell whose code was not sent yet.
func decideFirst(p Program, o *Observed, s State) (Action, State) {
	if a, next, decided := decideMarks(p, o, s); decided {
		return a, next
	}
	cleared := s.isCleared(o)
	takes := o.takesCode(cleared)
	clearing := s.clearing(o)
	switch {
	case o.Pressed: // nothing was sent, and nothing will be
		return Action{Do: End, Status: Failed, By: ByInt}, s
	case clearing && o.Quiet > clearRest && s.Clears > 1 && o.ignoresInt(): // once could be what another key waited for (Ctrl-V)
		s.Cleared, s.Emptied = 0, 0
		return typeFirst(p, o, s, !o.maybeBare())
	case clearing && o.lags():
		return Action{Do: Wait}, s
	case clearing && o.Quiet > clearRest && (takes || o.Shell.Last != 'C'):
		// The key was lost. That the kernel sees work says nothing: others may
		// be at work beside a shell that waits (fish makes completions).
		return clearInput(o, s)
	case !clearing && !takes && o.stuck():
		return clearInput(o, s)
	case clearing || !takes:
		return Action{Do: Wait}, s
	case o.keepsScreen(p, &s):
		return Action{Do: Refuse, Status: Failed, By: ByRefusal, Because: KeepsScreen}, s
	case o.asksTyped(p, &s):
		return Action{Do: Refuse, Status: Failed, By: ByRefusal, Because: AsksTyped}, s
	case o.standsHalf(s.Learned.Text):
		if o.Ready || o.Quiet > quietRest {
			return Action{Do: Refuse, Status: Failed, By: ByRefusal}, s
		}
		return Action{Do: Wait}, s
	case s.unclean(p, o):
		return clearInput(o, s)
	}
	return typeFirst(p, o, s, o.Shell.AtPrompt() || cleared)
}

// How far a cell is with the marks of a shell inside the session's program.
type marking string

const (
	markAsked marking = "asked" // whether a shell is there
	markGiven marking = "given" // the code that makes it print marks
	markOver  marking = "over"  // it prints them, or will not
)

// MarksGiven reports whether a shell was given the code.
func (s *State) MarksGiven() bool { return s.Marking == markGiven }

// decideMarks decides for a cell whose code waits for the marks of a shell inside
// the session's program. Somebody who interrupts the cell waits for what was begun.
func decideMarks(p Program, o *Observed, s State) (a Action, next State, decided bool) {
	m, left := &o.Shell, o.Left.Text
	begun := s.Marking == markAsked || s.Marking == markGiven
	switch {
	case begun && m.Inner && m.AtPrompt() && m.Ends > s.MarkEnds, s.OnlyMarks && s.Marking == "" && m.AtPrompt():
		s.Marking = markOver
		if s.OnlyMarks {
			return Action{Do: End, Status: Done, By: ByShell, HasExit: true}, s, true
		}
		return a, s, false
	case m.Inquiry.Nonce != "" && m.Inquiry.Answer != "" && s.Marking != markGiven: // the question may be an earlier cell's
		s.Marking, s.MarkEnds = markGiven, m.Ends
		return Action{Do: Give}, s, true
	case begun && o.Quiet > declineRest && (s.Marking == markGiven || o.Line > s.MarkLine) && SamePrompt(left, s.MarkPrompt):
		s.Marking = markOver
		return Action{Do: Decline}, s, true
	case begun && o.Quiet > answerRest:
		return Action{Do: Refuse, Status: Failed, By: ByRefusal}, s, true
	case begun:
		return Action{Do: Wait}, s, true
	case s.Marking == markOver && s.OnlyMarks, s.OnlyMarks && o.keepsScreen(p, &s):
		return Action{Do: Refuse, Status: Failed, By: ByRefusal}, s, true
	case s.Marking != "" || o.Pressed || !o.takesCode(false) || o.standsHalf(s.Learned.Text):
		return a, s, false
	case s.OnlyMarks || p.marksInner() && o.AtInnerPrompt():
		s.Marking, s.MarkLine, s.MarkPrompt = markAsked, o.Line, left
		return Action{Do: Ask}, s, true
	case p.marksInner() && o.soonInner():
		return Action{Do: Wait}, s, true
	}
	return a, s, false
}

// typeFirst types the code, or its first line. byShell says that a shell with marks
// takes it.
func typeFirst(p Program, o *Observed, s State, byShell bool) (Action, State) {
	s.Learned = learn(s.Learned, o.Left)
	if o.maybeBare() {
		s.Learned, s.Bare = o.Left, true
	}
	s.Prompt, s.Drawn = s.Learned, o.Drawn
	s.ByShell = byShell && p.Prompt == "" && !p.Hook
	var a Action
	if takesWhole(o, &s) {
		code := strings.Join(s.Lines, "\n")
		s.Lines = nil
		a = Action{Do: Type, Input: Input{Text: code, Style: styleOf(code, o.Bracket, true), Whole: true, Redraws: o.redraws()}}
	} else {
		a, s = typeNext(o, s, Take{})
	}
	a.First, a.NewCommand = true, true
	return a, s
}

// maxClears is how often Ctrl-C is pressed to discard a shell's input. A shell
// that was drawing its prompt may lose the first one.
const maxClears = 3

// clearInput presses Ctrl-C, which shells answer with an end and a new prompt,
// whatever their editors were doing. A shell that does not, or that has
// something in its input each time, is sent no code.
func clearInput(o *Observed, s State) (Action, State) {
	switch {
	case s.Clears < maxClears:
		s.Clears++
		s.Cleared, s.Emptied, s.Strays = o.Shell.Ends+1, o.Shell.Emptied+1, o.Stray.Count
		return Action{Do: Clear}, s
	case o.Quiet > quietRest:
		return Action{Do: Refuse, Status: Failed, By: ByRefusal}, s
	}
	return Action{Do: Wait}, s
}

// LastClear reports whether the shell's input is cleared for the last time.
func (s *State) LastClear() bool { return s.Clears >= maxClears }

// decideGiven decides by the prompt that the user gave. The prompt is ignored
// while the kernel reports that the program is busy: output may contain it
// too.
func decideGiven(p Program, o *Observed, s State) (Action, State) {
	given, shown := p.Prompt, strings.TrimRight(o.Left.Text, " ")
	switch {
	case o.Probe.State == pty.Busy || !o.Answered:
		return Action{Do: Wait}, s
	case strings.HasSuffix(shown, given) && (o.Ready || o.stands()):
		s.Prompt = wholePrompt(given, o, &s)
		if len(s.Lines) == 0 {
			return end(o, s, ByPrompt)
		}
		return typeNext(o, s, takeBeforePrompt(o, &s))
	case !o.Ready:
		return Action{Do: Wait}, s
	}
	if a, next, ok := typeRest(o, s, given, takeBeforePrompt(o, &s)); ok {
		return a, next
	}
	if o.Interrupted {
		return decideInterrupted(p, o, s)
	}
	return tell(s, ForInput)
}

// wholePrompt returns the prompt that stands left of the cursor. What the user
// gave may be its end only ('# '): the prompt from before, perhaps with another
// path, tells where it begins. All else before it is output without a newline.
func wholePrompt(given string, o *Observed, s *State) Prompt {
	if s.promptBack(o) && strings.Contains(s.Prompt.Text, given) {
		if s.Prompt.endsLine(o.Left.Text) {
			return s.Prompt
		}
		return o.Left
	}
	before, _ := strings.CutSuffix(strings.TrimRight(o.Left.Text, " "), given)
	return Prompt{strings.TrimPrefix(o.Left.Text, before), o.Left.Col - len([]rune(before))}
}

// decideInterrupted decides for a program that was interrupted and waits for
// input again. Its prompt may be another by now, but a question is none.
func decideInterrupted(p Program, o *Observed, s State) (Action, State) {
	switch {
	case !s.ByShell && s.holdsInput(o):
		return pressAgain(o, s)
	case p.plain() && !s.ByShell && !o.ShellEnded && len(s.Lines) == 0 && s.promptBack(o):
		return end(o, s, ByReady)
	case !s.ByShell && !o.Own && IsQuestion(o.Left.Text, s.Prompt.Text):
		return tell(s, ForInput)
	}
	a := Action{Do: End, Status: Done, By: ByInt, Take: takeBeforePrompt(o, &s), LostMarks: s.ByShell}
	if a.LostMarks {
		s.Learned = o.Left
	}
	return a, s
}

// maxPresses bounds how often Ctrl-C is pressed for one interrupt.
const maxPresses = 3

// pressAgain presses Ctrl-C again that no program got.
func pressAgain(o *Observed, s State) (Action, State) {
	if o.Presses < maxPresses && o.SincePress > clearRest {
		return Action{Do: Press}, s
	}
	return Action{Do: Wait}, s
}

// decideShellEnded decides for a shell that reported the command's end.
func decideShellEnded(o *Observed, s State) (Action, State) {
	switch {
	case !o.promptHolds() && !o.readsWithoutPrompt():
		return Action{Do: Wait}, s // the prompt is about to come
	case len(s.Lines) > 0:
		a, s := typeNext(o, s, Take{})
		a.NewCommand = true
		return a, s
	}
	return Action{Do: End, Status: Done, By: ByShell, HasExit: true, ExitCode: o.Shell.Exit}, s
}

// decideShell decides for code that a shell with marks is running. The shell
// will report the end, so only questions are detected here.
func decideShell(o *Observed, s State) (Action, State) {
	unknown := o.Probe.State == pty.Unknown
	pending := o.Shell.Last == inputPending && unknown // in an editor of its own (fish), and nothing began
	if o.Shell.Inner && !o.Shell.Silent {
		pending = false // it tells what it makes of the code, late where it is far away
	}
	runs := o.Shell.Last == 'C' || pending && o.Shell.Silent && o.Shell.Inner
	// The kernel knows nothing of a shell inside another program.
	continues := o.Shell.Last == 'P' && (o.Ready || unknown && o.Shell.Inner && o.Quiet > promptRest)
	switch {
	case continues && len(s.Lines) > 0:
		return typeNext(o, s, takeBeforePrompt(o, &s))
	case continues:
		return tell(s, ForContinuation)
	case o.barePrompt():
		s.Learned = o.Left
		return Action{Do: End, Status: Done, By: ByReady, Take: takeBeforePrompt(o, &s), Rests: true, LostMarks: true, Likely: true}, s
	case o.Ready, runs && o.AtInnerPrompt():
		return tell(s, ForInput)
	case o.justGone():
		return Action{Do: Wait}, s
	case pending && !runs && o.Quiet > promptRest && len(s.Lines) > 0:
		return typeNext(o, s, Take{}) // fish -N shows no other prompt
	case pending && !runs && o.Quiet > quietRest/3 && o.Shell.Silent:
		return tell(s, ForInput)
	case pending && !runs && o.Quiet > quietRest/3:
		return tell(s, ForContinuation)
	case runs && o.asks():
		return tell(s, ForInput)
	case runs && unknown && o.Left.Text != "" && o.Quiet > quietRest:
		return tell(s, ForInput) // it waits for the terminal among others (ssh), behind an open line
	case o.Probe.State == pty.Busy && o.Shell.Elsewhere() && o.Left.Text != "" && o.Quiet > innerRest:
		return Action{Do: Wait}, s // what carries the shell is at work: a question behind it stands
	case o.Probe.State == pty.Busy:
		return tell(s, "")
	}
	return Action{Do: Wait}, s
}

// justGone reports whether the program has ended, and the terminal is about to
// hang up.
func (o *Observed) justGone() bool { return o.Probe.Gone && o.Quiet < goneRest }

// decideOther decides for a program without marks: by the kernel, or, if that
// cannot tell, by the prompt or silence.
func decideOther(o *Observed, s State) (Action, State) {
	prompt := s.Prompt.Text
	switch {
	case o.Ready:
		return decideRested(o, s, ByReady)
	case o.justGone():
		return Action{Do: Wait}, s
	case s.printed(o) && o.Quiet <= quietRest:
		return Action{Do: Wait}, s
	case o.Standing > timerRest && prompt != "" && s.known(o) && !s.printed(o):
		return decideRested(o, s, ByLearned)
	case o.asks():
		return tell(s, ForInput)
	case o.Probe.State != pty.Unknown || o.AltScreen:
		return tell(s, "")
	case s.printed(o):
		return Action{Do: Wait}, s
	case s.promptBack(o) && o.stands():
		return decideRested(o, s, ByLearned)
	case len(s.Lines) > 0 && o.stands() && IsContinuation(o.Left.Text, prompt):
		return decideRested(o, s, ByLearned)
	case o.Quiet > quietRest && prompt != "" && o.Heard && IsContinuation(o.Left.Text, prompt):
		return tell(s, ForContinuation)
	case o.Quiet > quietRest && prompt != "" && o.Heard && o.Left.Text != "": // a question, most likely; or it works behind an open line
		return tell(s, ForInput)
	case o.Quiet > quietRest && prompt == "": // else it goes on until its prompt is back
		return decideRested(o, s, ByQuiet)
	}
	return Action{Do: Wait}, s
}

// decideRested decides for a program that waits for a line: it gets more of
// the code, has finished it, or asks a question.
func decideRested(o *Observed, s State, by By) (Action, State) {
	if len(s.Lines) > 0 && asksBetween(o.Left.Text, s.Prompt.Text) {
		return tell(s, ForInput)
	}
	if a, next, ok := typeRest(o, s, s.Prompt.Text, takeOrDrop(o, &s)); ok {
		return a, next
	}
	switch {
	case SamePrompt(o.Left.Text, s.Prompt.Text):
	case IsContinuation(o.Left.Text, s.Prompt.Text):
		return tell(s, ForContinuation)
	case by == ByQuiet || s.promptBack(o):
	default:
		return tell(s, ForInput)
	}
	return end(o, s, by)
}

// typeRest types what is left of the code, and the empty line that ends a block
// of Python behind it. It returns false if nothing is left to type. primary is the
// program's prompt.
func typeRest(o *Observed, s State, primary string, take Take) (Action, State, bool) {
	inBlock := InBlock(o.Left.Text, primary)
	switch {
	case len(s.Lines) > 0 && inBlock:
		s.Lines = pythonBlock(s.Python, s.Typed, s.Lines)
	case len(s.Lines) > 0:
	case inBlock && s.Typed != endsBlock && !s.Python.open():
		s.Lines, take = []string{endsBlock}, takeBeforePrompt(o, &s)
	default:
		return Action{}, s, false
	}
	a, s := typeNext(o, s, take)
	return a, s, true
}

// end ends a cell whose program shows its prompt again.
func end(o *Observed, s State, by By) (Action, State) {
	status := Done
	if by == ByQuiet {
		status = Unsure
	}
	return Action{Do: End, Status: status, By: by, Take: takeBeforePrompt(o, &s), Rests: by == ByReady, Likely: s.Bare}, s
}

func tell(s State, what string) (Action, State) { return Action{Do: Tell, WaitingFor: what}, s }

// typeNext types one more line of the code.
func typeNext(o *Observed, s State, take Take) (Action, State) {
	s = s.next()
	in := Input{Text: s.Typed, Style: styleOf(s.Typed, o.Bracket, s.ByShell), Redraws: o.redraws()}
	return Action{Do: Type, Take: take, Input: in}, s
}

// Do names what is to be done for a cell.
type Do string

// The actions.
const (
	Wait  Do = "wait"  // nothing, until something happens
	Clear Do = "clear" // press Ctrl-C: something stands behind the prompt
	Press Do = "press" // press Ctrl-C again, for who interrupts the cell
	Type  Do = "type"  // Input
	// Ask asks whether a shell inside the session's program reads; Give types the
	// code for the one that answered. Decline notes that none did, or that it made
	// nothing of the code.
	Ask     Do = "ask"
	Give    Do = "give"
	Decline Do = "decline"

	Tell Do = "tell" // that the program waits, or works again
	End  Do = "end"  // the cell
	// Refuse ends a cell whose code, or the rest of it, was not sent: the input
	// line holds something that no cell typed, and that Ctrl-C does not remove or
	// might not.
	Refuse Do = "refuse"
)

// Action is Decide's decision. Take is carried out first.
type Action struct {
	Do   Do
	Take Take

	// Type
	Input Input
	// First is set for the first input of the cell.
	First bool
	// NewCommand makes command ends that the shell reported earlier not count.
	NewCommand bool

	// Tell
	WaitingFor string // or "": it works again

	// End
	Status   Status
	By       By
	HasExit  bool
	ExitCode int
	// Rests is set if the program is known to wait for input.
	Rests bool
	// LostMarks is set if the shell no longer prints marks. Its prompt is then
	// the text left of the cursor.
	LostMarks bool
	// Because is why code is refused, if the input line is not.
	Because Because
	// Likely is set if a question could look the same, or if the terminal may show
	// what was printed elsewhere than it was.
	Likely bool
}

// Because is why code is refused.
type Because string

// The reasons beside what stands in the input line.
const (
	KeepsScreen Because = "screen" // a program draws the whole screen, and shows no prompt that is known
	AsksTyped   Because = "asks"   // a command that no cell began asks something
)

// Result returns the cell's result according to an End action.
func (a Action) Result() Result {
	r := Result{Status: a.Status, By: a.By}
	if a.Status != Failed {
		r.Certainty = a.By.Certainty()
	}
	if a.Likely && r.Certainty == Exact {
		r.Certainty = Likely
	}
	if a.HasExit {
		r.ExitCode = &a.ExitCode
	}
	return r
}

// Take says what happens to the output on the screen since the last input.
type Take struct {
	What Taking
	Line int64 // with ToPlace: the output ends before this place
	Col  int
}

// Taking is what is done with output.
type Taking string

// What may be done with it.
const (
	Nothing Taking = ""
	ToPlace Taking = "to-place"
	Drop    Taking = "drop" // an editor drew it
)

// takeBeforePrompt takes everything before the prompt.
func takeBeforePrompt(o *Observed, s *State) Take {
	col := 0
	if s.Prompt.endsLine(o.Left.Text) {
		col = o.Left.Col - s.Prompt.Col
	}
	return Take{What: ToPlace, Line: o.Line, Col: max(col, 0)}
}

// takeOrDrop is for a program that waits for the next line. If it asks for
// more of an unfinished input, it has run nothing yet: what changed was drawn
// by its editor and is dropped.
func takeOrDrop(o *Observed, s *State) Take {
	if o.redraws() && IsContinuation(o.Left.Text, s.Prompt.Text) {
		return Take{What: Drop}
	}
	return takeBeforePrompt(o, s)
}

// takeAtExit takes everything a program left on the screen, except the prompt
// of one that was killed at its prompt.
func takeAtExit(o *Observed, s *State) Take {
	take := Take{What: ToPlace, Line: o.Line, Col: o.Left.Col}
	switch {
	case o.ShellEnded: // it was taken then
		return Take{}
	case s.ByShell || s.Prompt.Text == "":
	case SamePrompt(o.Left.Text, s.Prompt.Text):
		take.Col = 0
	case strings.HasSuffix(o.Left.Text, s.Prompt.Text):
		take.Col = max(o.Left.Col-s.Prompt.Col, 0)
	}
	return take
}

// takeAtHook takes everything before the line by which the hook recognised the
// end. Of one that has read nothing that is the last line: as a rule the prompt.
func takeAtHook(o *Observed) Take {
	if o.HookRead {
		return Take{What: ToPlace, Line: o.HookLine, Col: o.HookCol}
	}
	line := o.Line
	if o.Left.Col == 0 {
		line--
	}
	return Take{What: ToPlace, Line: line}
}
