package cell

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"strings"
)

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
// den's start-up file binds. At last, where Ctrl-C was of no use, Ctrl-U removes what
// was typed.
func ClearKeys(argv0 string, inner, pasting, last bool) []byte {
	keys := "\x03"
	if last {
		keys += "\x15"
	}
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

// Python tracks Python code line by line, to tell where its REPL ends a block.
// An empty line ends nothing inside a string, a bracket or a continued line.
type Python struct {
	Quote     string `json:"quote,omitempty"`     // of the string that is open, or ""
	Depth     int    `json:"depth,omitempty"`     // of open brackets
	Joined    bool   `json:"joined,omitempty"`    // the line ended with a backslash
	Decorated bool   `json:"decorated,omitempty"` // the last statement was a decorator: what it decorates follows
}

// Add takes the next line of the code.
func (p *Python) Add(line string) {
	if text := strings.TrimSpace(line); !p.Within() && text != "" && text[0] != '#' {
		p.Decorated = strings.HasPrefix(line, "@")
	}
	p.Joined = false
	for rest := line; rest != ""; {
		rest = p.step(rest)
	}
	if len(p.Quote) == 1 && !p.Joined { // an error, which the REPL tells
		p.Quote = ""
	}
}

// step consumes one token, or a character of one, and returns the rest.
func (p *Python) step(s string) string {
	if s[0] == '\\' {
		p.Joined = len(s) == 1
		return s[min(2, len(s)):]
	}
	if p.Quote != "" {
		if rest, ok := strings.CutPrefix(s, p.Quote); ok {
			p.Quote = ""
			return rest
		}
		return s[1:]
	}
	switch s[0] {
	case '#':
		return ""
	case '"', '\'':
		p.Quote = s[:1]
		if triple := strings.Repeat(p.Quote, 3); strings.HasPrefix(s, triple) {
			p.Quote = triple
		}
		return s[len(p.Quote):]
	case '(', '[', '{':
		p.Depth++
	case ')', ']', '}':
		p.Depth = max(0, p.Depth-1)
	}
	return s[1:]
}

// Within reports whether the next line continues a string, a bracket or a
// line.
func (p *Python) Within() bool { return p.Quote != "" || p.Depth > 0 || p.Joined }

// open reports whether the typed input is incomplete, whatever the prompt
// says.
func (p *Python) open() bool { return p.Within() || p.Decorated }

// endsBlock is the line that ends a block.
const endsBlock = ""

// pythonBlock returns the lines still to be typed inside a block, such that
// the REPL understands them as a file would: empty lines inside a block are
// left out, and one is added where a line at the margin ends the block. An
// empty line that did not end the block is not sent again.
func pythonBlock(p Python, typed string, lines []string) []string {
	if p.Within() {
		return lines
	}
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if typed != endsBlock && !p.Decorated && endsBefore(lines[0]) {
		lines = append([]string{endsBlock}, lines...)
	}
	return lines
}

// endsBefore reports whether a block ends before the next line: that line is
// not indented and does not belong to the block.
func endsBefore(next string) bool {
	if next == "" || next[0] == ' ' || next[0] == '\t' || next[0] == '#' {
		return false
	}
	word := next[:len(next)-len(strings.TrimLeft(next, "abcdefghijklmnopqrstuvwxyz"))]
	return !slices.Contains([]string{"else", "elif", "except", "finally"}, word)
}

// The begin of den's own prompt marks in a shell's output, and their end.
var (
	markC   = []byte("\x1b]133;C;den=")
	markD   = []byte("\x1b]133;D;")
	markEnd = []byte("\x1b\\")
)

// CopyRaw copies a cell's raw output to w. parts yields the session's output
// between the cell's begin and end; it is iterated twice. If the shell marked
// its command, echo and prompt are left out. Otherwise they stay, because they
// cannot be told apart from output.
func CopyRaw(w io.Writer, parts func() iter.Seq2[[]byte, error]) error {
	from, to, err := marked(parts())
	if err != nil {
		return err
	}
	at := int64(0)
	for p, err := range parts() {
		if err != nil {
			return err
		}
		first, last := max(from-at, 0), int64(len(p))
		if to >= 0 {
			last = min(last, to-at)
		}
		at += int64(len(p))
		if first >= last {
			continue
		}
		if _, err := w.Write(p[first:last]); err != nil {
			return err
		}
	}
	return nil
}

// marked returns the range of the command's output: after the first C mark and
// before the last D mark. Without marks it returns 0 and -1.
func marked(parts iter.Seq2[[]byte, error]) (from, to int64, err error) {
	to = -1
	at, begun := int64(0), false // at is where window begins
	var window []byte
	for p, err := range parts {
		if err != nil {
			return 0, 0, err
		}
		window = append(window, p...)
		if i := bytes.Index(window, markC); !begun && i >= 0 {
			if j := bytes.Index(window[i:], markEnd); j >= 0 {
				begun = true
				from = at + int64(i+j+len(markEnd))
			}
		}
		if i := bytes.LastIndex(window, markD); begun && i >= 0 && at+int64(i) >= from {
			to = at + int64(i)
		}
		// A mark may go on in the next part.
		if drop := len(window) - 128; drop > 0 {
			window = append(window[:0], window[drop:]...)
			at += int64(drop)
		}
	}
	return from, to, nil
}
