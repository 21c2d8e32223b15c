package host

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"den/internal/cell"
	"den/internal/wire"
)

// typedLine tracks the text typed since the last Enter. It knows the common
// line-editing keys; key bindings of a program are not tracked.
type typedLine struct {
	Text    []byte `json:"text,omitempty"`
	Pasting bool   `json:"pasting,omitempty"` // between the marks of a paste, where Enter is text
	Keys    bool   `json:"keys,omitempty"`    // keys were pressed whose effect on the line is not known
}

// maxTypedLine bounds how much of the end of the line is kept.
const maxTypedLine = 8 << 10

var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// typed updates the line with input that was sent to the terminal.
func (l *typedLine) typed(data []byte) {
	for len(data) > 0 {
		switch {
		case bytes.HasPrefix(data, pasteBegins):
			l.Pasting, data = true, data[len(pasteBegins):]
		case bytes.HasPrefix(data, pasteEnds):
			l.Pasting, data = false, data[len(pasteEnds):]
		case data[0] == 0x1b:
			l.Keys = true
			data = data[escapeLength(data):]
		case isText(data[0]): // a long paste in one piece
			n := 1
			for n < len(data) && isText(data[n]) {
				n++
			}
			l.Text = append(l.Text, data[max(0, n-maxTypedLine):n]...)
			data = data[n:]
		default:
			l.key(data[0])
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

func (l *typedLine) key(b byte) {
	switch {
	case l.Pasting || isText(b):
		l.Text = append(l.Text, b)
	case b == 0x7f || b == 0x08: // Backspace
		_, n := utf8.DecodeLastRune(l.Text)
		l.Text = l.Text[:len(l.Text)-n]
	case b == 0x17: // Ctrl-W
		l.Text = l.Text[:bytes.LastIndexByte(bytes.TrimRight(l.Text, " "), ' ')+1]
	case b == '\r', b == '\n', b == 0x03, b == 0x15, b == 0x04, b == 0x1a, b == 0x1c: // Enter, and keys that drop the line
		l.Text, l.Keys = l.Text[:0], false
	case b != 0x0c && b != 0x11 && b != 0x13: // Ctrl-L draws the line again, Ctrl-Q and Ctrl-S stop and start the output
		l.Keys = true
	}
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

// standsIn returns the typed text if it is still in the input line: held by
// the terminal in canonical mode, or shown at the cursor. Keys that a
// full-screen program took as commands are in no line.
func (l *typedLine) standsIn(lineMode bool, cursorRow string) string {
	text := string(l.Text)
	shown := strings.TrimSpace(text)
	switch {
	case text == "":
		return ""
	case lineMode:
		return text
	case shown == "":
		return ""
	case strings.Contains(cursorRow, shown):
		return text
	case cursorRow != "" && strings.HasSuffix(shown, strings.TrimSpace(cursorRow)): // it wrapped
		return text
	}
	return ""
}

// inputState tells what became of input.
func (h *Host) inputState() (wire.InputState, error) {
	if err := h.requireRunning(); err != nil {
		return wire.InputState{}, err
	}
	echo, lineMode, err := h.tty.Echo()
	if err != nil {
		return wire.InputState{}, err
	}
	h.typing.Lock() // what was announced is in the queue
	queued := h.input.size()
	h.typing.Unlock()
	unread, err := h.tty.InputQueued()
	if err != nil {
		return wire.InputState{}, err
	}
	c := h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	row := cell.PromptAt(c.term)
	unfinished := c.Line.standsIn(lineMode, row)
	if lineMode && !echo { // a password is shown to nobody
		unfinished = strings.Repeat("*", len(unfinished))
	}
	return wire.InputState{Unread: queued + unread, LineMode: lineMode, Echo: echo, Unfinished: unfinished, CursorRow: row}, nil
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
