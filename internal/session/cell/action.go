package cell

import "strings"

// Do names what is to be done for a cell.
type Do string

// The actions.
const (
	Wait  Do = "wait"  // nothing, until something happens
	Clear Do = "clear" // press Ctrl-C: something stands behind the prompt
	Type  Do = "type"  // Input
	Tell  Do = "tell"  // that the program waits, or works again
	End   Do = "end"   // the cell
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
}

// Result returns the cell's result according to an End action.
func (a Action) Result() Result {
	r := Result{Status: a.Status, By: a.By, Certainty: a.By.Certainty()}
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

// takeAtHook takes everything but the last line, by which the hook recognised
// the end. As a rule that is the prompt.
func takeAtHook(o *Observed) Take {
	line := o.Line
	if o.Left.Col == 0 {
		line--
	}
	return Take{What: ToPlace, Line: line}
}
