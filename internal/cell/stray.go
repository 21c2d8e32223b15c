package cell

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
	case m.Last == 'P' || m.leftover(o.Left.Text):
		return true
	}
	entered := o.Stray.Entered && m.Ends > o.Stray.Ends && o.Blank
	return o.Stray.Pending && !entered
}
