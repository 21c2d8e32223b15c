package cell

import "strings"

// State is how far a cell has come: what Decide decided before. It is a value,
// and crosses a host upgrade as it is.
type State struct {
	Lines   []string `json:"lines,omitempty"`   // what is still to be typed
	Typed   string   `json:"typed"`             // the line that was typed last
	ByShell bool     `json:"by_shell"`          // it was sent at the prompt of a shell with marks
	Prompt  Prompt   `json:"prompt"`            // the program's, when the code was sent
	Learned Prompt   `json:"learned"`           // the program's, for the next cell
	Cleared int      `json:"cleared,omitempty"` // not 0: what stood behind the shell's prompt was dropped, and this many ends tell that it is gone
	Clears  int      `json:"clears,omitempty"`  // how often that was tried
	Python  Python   `json:"python,omitzero"`   // what was typed, for Python's REPL
}

// Begin is the state of a cell whose code was not sent. learned is the program's
// prompt as the last cell left it.
func Begin(code string, learned Prompt) State {
	return State{Lines: strings.Split(strings.TrimRight(code, "\n"), "\n"), Learned: learned}
}

// isCleared reports whether the shell dropped what stood behind its prompt, and
// shows none (fish).
func (s *State) isCleared(o *Observed) bool {
	return s.Cleared > 0 && o.Shell.Ends >= s.Cleared && o.Shell.Last == 'D' && o.Quiet > promptRest
}

// learn returns the program's prompt. What stands left of the cursor is more
// than that where the last output ended without a newline.
func learn(last, left Prompt) Prompt {
	switch {
	case last.Text != "" && left.Text == "": // something printed behind the prompt
		return last
	case last.endsLine(left.Text):
		return last
	}
	return left
}

// endsLine reports whether a line is a prompt behind output without a newline.
func (p Prompt) endsLine(line string) bool {
	return p.Text != "" && line != p.Text && strings.HasSuffix(line, p.Text) && !IsContinuation(line, p.Text)
}

// next takes the next line of the code.
func (s State) next() State {
	s.Typed, s.Lines = s.Lines[0], s.Lines[1:]
	s.Python.Add(s.Typed)
	return s
}

// holdsInput reports whether a part of the code stands behind the prompt, and
// nothing else: the terminal dropped the rest at Ctrl-C, and the program's
// editor missed the signal (Python's does, while it takes a key).
func (s *State) holdsInput(o *Observed) bool {
	typed, ok := strings.CutPrefix(o.Left.Text, s.Prompt.Text)
	typed = strings.TrimSpace(typed)
	return ok && typed != "" && strings.HasPrefix(strings.TrimSpace(s.Typed), typed)
}

// known reports whether the text left of the cursor is the program's prompt, or
// the one by which it asks for the rest of an input.
func (s *State) known(o *Observed) bool {
	return SamePrompt(o.Left.Text, s.Prompt.Text) || IsContinuation(o.Left.Text, s.Prompt.Text)
}
