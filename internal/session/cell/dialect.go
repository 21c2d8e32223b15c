package cell

import "strings"

// Input is one text for the program, and how it is typed.
type Input struct {
	Text  string
	Style Style
	// Whole is set if this is all of the code, typed at the prompt of a shell
	// that marks the begin of output.
	Whole bool
	// Redraws is set if the program may redraw its input.
	Redraws bool
}

// Style is the way a text is typed, so that the program takes it as one input.
type Style string

// The styles.
const (
	// InBrackets uses bracketed paste, then Enter: tabs complete nothing, and
	// newlines do not end the input.
	InBrackets Style = "in-brackets"
	// AtOnce writes text and Enter together, for a shell's line editor.
	AtOnce Style = "at-once"
	// ThenEnter waits until the program has read the text before it sends
	// Enter. Programs other than shells may take both for one paste.
	ThenEnter Style = "then-enter"
)

// styleOf returns the style for a text. Bracketed paste is avoided where it
// makes no difference, because readline draws a pasted line twice, and
// misplaces it after output without a newline.
func styleOf(text string, brackets, shell bool) Style {
	switch {
	case brackets && strings.ContainsAny(text, "\t\n"):
		return InBrackets
	case shell:
		return AtOnce
	}
	return ThenEnter
}

// takesWhole reports whether the program accepts several lines at once and
// marks the begin of its output.
func takesWhole(o *Observed, s *State) bool {
	return s.ByShell && !o.Shell.Silent && (len(s.Lines) == 1 || o.Bracket)
}

// ClearKeys returns what empties the input of the shell argv0, or of another
// one inside it: the end of a paste, if one is open, Ctrl-C, and the key that
// den's start-up file binds.
func ClearKeys(argv0 string, inner, pasting bool) []byte {
	keys := "\x03"
	if pasting {
		keys = "\x1b[201~" + keys
	}
	if shellName(argv0) == "fish" && !inner {
		keys += "\x1b[5379~"
	}
	return []byte(keys)
}

// KeepsRefused reports whether argv0 is a shell that leaves refused code in
// its editor.
func KeepsRefused(argv0 string) bool { return shellName(argv0) == "fish" }

// Editor tells whether a shell's line editor asks the terminal questions, and
// takes the replies.
type Editor string

// What editors do.
const (
	EditorAsksNothing Editor = ""
	EditorAsks        Editor = "asks"       // at any prompt (fish)
	EditorAsksFirst   Editor = "asks-first" // at the first prompt (zsh, from 5.10 on)
)

// EditorOf returns what the editor of the shell argv0 does.
func EditorOf(argv0 string) Editor {
	switch shellName(argv0) {
	case "fish":
		return EditorAsks
	case "zsh":
		return EditorAsksFirst
	}
	return EditorAsksNothing
}
