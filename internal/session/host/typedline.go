package host

import (
	"bytes"
	"unicode/utf8"

	"den/internal/session/cell"
)

// typedLine tracks the text typed since the last Enter. It knows the common
// line-editing keys; key bindings of a program are not tracked.
type typedLine struct {
	Text    []byte `json:"text,omitempty"`
	Pasting bool   `json:"pasting,omitempty"` // between the marks of a paste, where Enter is text
	Keys    bool   `json:"keys,omitempty"`    // keys were pressed whose effect on the line is not known
	// Cut and Entered: a key came behind them, or to a part of the text, that
	// empties the line of most programs. What is left is not known either: Ctrl-U
	// keeps what stands behind the cursor, and Enter may only have chosen an entry
	// of a menu.
	Cut     bool `json:"cut,omitempty"`
	Entered bool `json:"entered,omitempty"`
}

// clean reports whether nothing was typed since the line was empty.
func (l *typedLine) clean() bool { return l.sure() && len(l.Text) == 0 }

// sure reports whether Text is all that the line can hold.
func (l *typedLine) sure() bool { return !l.Keys && !l.Cut && !l.Entered }

// maxTypedLine bounds how much of the end of the line is kept.
const maxTypedLine = 8 << 10

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// typed updates the line with input that was sent to the terminal. In canonical
// mode the kernel edits the line, else the program does.
func (l *typedLine) typed(data []byte, canonical bool) {
	for len(data) > 0 {
		switch {
		case bytes.HasPrefix(data, pasteBegins):
			l.Pasting, data = true, data[len(pasteBegins):]
		case bytes.HasPrefix(data, pasteEnds):
			l.Pasting, data = false, data[len(pasteEnds):]
		case data[0] == 0x1b:
			n := escapeLength(data)
			l.Keys = l.Keys || !isFocus(data[:n])
			data = data[n:]
		case isText(data[0]): // a long paste in one piece
			n := 1
			for n < len(data) && isText(data[n]) {
				n++
			}
			l.Text = append(l.Text, data[max(0, n-maxTypedLine):n]...)
			l.Keys = l.Keys || !canonical && bytes.IndexByte(data[:n], '\t') >= 0 // a completion
			data = data[n:]
		default:
			l.key(data[0], canonical)
			data = data[1:]
		}
	}
	if over := len(l.Text) - maxTypedLine; over > 0 {
		l.Text = append(l.Text[:0], l.Text[over:]...)
	}
}

// entered reports whether input that was recorded ended with Enter.
func (l *typedLine) entered(data []byte) bool {
	return !l.Pasting && len(data) > 0 && (data[len(data)-1] == '\r' || data[len(data)-1] == '\n')
}

// isText reports whether a byte is text for every program.
func isText(b byte) bool { return b >= ' ' && b != 0x7f || b == '\t' }

func (l *typedLine) key(b byte, canonical bool) {
	switch {
	case l.Pasting:
		l.Text = append(l.Text, b)
	case b == 0x7f || b == 0x08 && !canonical: // Backspace
		_, n := utf8.DecodeLastRune(l.Text)
		l.Text = l.Text[:len(l.Text)-n]
	case b == 0x17 && canonical: // Ctrl-W
		l.Text = l.Text[:kernelWord(l.Text)]
	case b == 0x17:
		l.Cut = l.Cut || len(l.Text) > 0 // editors differ in what a word is
		l.Text = l.Text[:bytes.LastIndexByte(bytes.TrimRight(l.Text, " "), ' ')+1]
	case b == '\r', b == '\n', b == 0x03: // Enter, Ctrl-C
		*l = typedLine{Text: l.Text[:0], Entered: !canonical && !l.sure()}
	case b == 0x15 && !canonical: // Ctrl-U
		l.Text, l.Keys, l.Cut = l.Text[:0], false, l.Cut || l.Keys
	case (b == 0x04 || b == 0x1a || b == 0x1c) && !canonical: // Ctrl-D, Ctrl-Z, Ctrl-\
		l.Text, l.Keys, l.Cut = l.Text[:0], false, !l.clean() // only some programs drop the line
	case b == 0x04: // what is typed next belongs to the same line all the same
		l.Keys = !l.clean()
	case b == 0x15, b == 0x1a, b == 0x1c:
		*l = typedLine{Text: l.Text[:0]}
	case b != 0x0c && b != 0x11 && b != 0x13: // Ctrl-L draws the line again, Ctrl-Q and Ctrl-S stop and start the output
		l.Keys = true
	}
}

// kernelWord returns where the word begins that the kernel's Ctrl-W removes.
func kernelWord(text []byte) int {
	for i, word := len(text), false; i > 0; i-- {
		switch b := text[i-1]; {
		case b == '_' || b >= utf8.RuneSelf || isAlnum(b):
			word = true
		case word:
			return i
		}
	}
	return 0
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

// isFocus reports whether an escape sequence tells that a person's terminal got
// or lost the focus.
func isFocus(sequence []byte) bool {
	return string(sequence) == "\x1b[I" || string(sequence) == "\x1b[O"
}

// escapeLength returns the length of the escape sequence at the start of data,
// or of the part that is there.
func escapeLength(data []byte) int {
	if len(data) < 2 {
		return len(data)
	}
	if data[1] == 'O' {
		return min(3, len(data))
	}
	if data[1] != '[' {
		return 2
	}
	for i := 2; i < len(data); i++ {
		if data[i] >= 0x40 && data[i] <= 0x7e {
			return i + 1
		}
	}
	return len(data)
}

// lookAtHalf completes what is known about half a line.
func (h *Host) lookAtHalf(half *cell.HalfLine) {
	if _, canonical, err := h.tty.Echo(); err == nil {
		half.Canonical = canonical
	}
	c := h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	half.Shown, half.Behind = c.LastOutput > c.LastInput, !cell.NothingBehindCursor(c.term)
}
