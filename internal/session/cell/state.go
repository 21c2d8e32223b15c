package cell

import "strings"

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
}

// Begin returns the initial state of a cell. learned is the program's prompt
// at the end of the last cell.
func Begin(code string, learned Prompt) State {
	return State{Lines: strings.Split(strings.TrimRight(code, "\n"), "\n"), Learned: learned}
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

// known reports whether the text left of the cursor is the program's prompt or
// its continuation prompt.
func (s *State) known(o *Observed) bool {
	return SamePrompt(o.Left.Text, s.Prompt.Text) || IsContinuation(o.Left.Text, s.Prompt.Text)
}
