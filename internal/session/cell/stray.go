package cell

import "strings"

// StrayInput tracks input that no cell typed, the terminal's own replies
// included. Until a shell is known to have consumed it, some of it may stand in
// the shell's input line, or in its editor's state: what the screen shows does
// not tell all (a search, a key that waits for another, vi's command mode). It
// survives an upgrade.
type StrayInput struct {
	Count   int  `json:"count,omitempty"`   // inputs so far
	Pending bool `json:"pending,omitempty"` // some may not be consumed
	Entered bool `json:"entered,omitempty"` // the last one ended with Enter
	Ends    int  `json:"ends,omitempty"`    // that the shell had reported when it came
}

// Add records one input. entered says that it ended with Enter.
func (i *StrayInput) Add(entered bool, ends int) {
	*i = StrayInput{Count: i.Count + 1, Pending: true, Entered: entered, Ends: ends}
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
