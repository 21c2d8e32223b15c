package cell

import "strings"

// Input is one text for the program, and how it is typed.
type Input struct {
	Text  string
	Style Style
	// Whole says that it is all of the code, at the prompt of a shell that
	// tells where its output begins.
	Whole bool
	// Redraws says that the program may draw its input again.
	Redraws bool
}

// Style is how a text is typed so that the program takes it as one input.
type Style string

// The styles.
const (
	// InBrackets pastes the text, and Enter: a tab completes nothing, and a
	// newline does not end the input.
	InBrackets Style = "in-brackets"
	// AtOnce writes text and Enter together, as a shell's line editor takes them.
	AtOnce Style = "at-once"
	// ThenEnter lets the program read the text before Enter comes: of a program
	// that is no shell it is not known what it takes together.
	ThenEnter Style = "then-enter"
)

// styleOf is how a text is typed. Paste brackets are left away where they
// change nothing, because readline draws a pasted line twice, and at the wrong
// place behind output without a newline.
func styleOf(text string, brackets, shell bool) Style {
	switch {
	case brackets && strings.ContainsAny(text, "\t\n"):
		return InBrackets
	case shell:
		return AtOnce
	}
	return ThenEnter
}

// takesWhole reports whether the program takes code of several lines at once,
// and tells where its output begins.
func takesWhole(o *Observed, s *State) bool {
	return s.ByShell && !o.Shell.Silent && (len(s.Lines) == 1 || o.Bracket)
}

// KeepsRefused reports whether a command is a shell that leaves code that it
// refused in its editor.
func KeepsRefused(argv0 string) bool { return shellName(argv0) == "fish" }
