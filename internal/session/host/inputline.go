package host

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// cursorRow is the row of the cursor at one moment.
type cursorRow struct {
	At     place  `json:"at"`
	Left   string `json:"left,omitempty"`   // of the cursor
	Behind string `json:"behind,omitempty"` // the rest of the row, as a hint in an empty line
	Below  bool   `json:"below,omitempty"`  // something stands in the rows below
}

func cursorRowOf(term *vt.Terminal) cursorRow {
	left, behind, below := cell.AroundCursor(term)
	return cursorRow{At: cursorPlace(term), Left: left, Behind: behind, Below: below}
}

// sameAs reports whether a row shows what it showed before.
func (r *cursorRow) sameAs(before *cursorRow) bool {
	return r.Left == before.Left && r.Behind == before.Behind && (before.Below || !r.Below)
}

// onRowOf reports whether the cursor is in the row where it was before.
func (r *cursorRow) onRowOf(before *cursorRow) bool {
	return r.At.Line == before.At.Line && r.At.Alt == before.At.Alt
}

// nothingBehind reports whether the cursor stands at the end of its line. What
// stands far behind it is a prompt at the right.
func (r *cursorRow) nothingBehind() bool {
	return !r.Below && (r.Behind == "" || strings.HasPrefix(r.Behind, "  "))
}

// beginLineLocked looks at the row of the cursor before the first key of a line.
// Behind input that the program has not answered yet, the row tells nothing: the
// line before may still stand there.
func (c *core) beginLineLocked(canonical bool) {
	now := cursorRowOf(c.term)
	if l := &c.Line; l.Entered && !l.Keys && !l.Cut && len(l.Text) == 0 && (canonical || !c.staysLocked(&now)) {
		l.Entered = false
	}
	if !c.Line.clean() {
		return
	}
	c.LineStart = nil
	if !canonical && c.LastOutput > c.LastInput {
		c.LineStart = &now
	}
}

// restedLocked notes that the program waits for input: all that was sent has
// taken effect. If nothing was typed since the last line, it shows its prompt.
func (c *core) restedLocked(canonical bool) {
	c.Foreign = false
	left := cell.PromptAt(c.term)
	if c.Line.clean() && !canonical && strings.TrimSpace(left) != "" && !cell.InBlock(left, c.LinePrompt) {
		c.LinePrompt = left
	}
}

// inputLineLocked returns what stands in the line that the program edits or
// will get next. unsure says that it may hold something that text does not
// tell: keys were pressed whose effect is not known, and neither a new prompt
// nor the screen shows that the line is empty. Keys that a full-screen program
// took as commands are in no line.
func (c *core) inputLineLocked(canonical, unread bool) (text string, unsure bool) {
	l, now := &c.Line, cursorRowOf(c.term)
	text = string(l.Text)
	switch {
	case c.shell.Last == 'P': // a shell waits for the rest of a command
		return text, true
	case canonical:
		return text, l.Keys
	case l.clean():
		return c.leftoverLocked(&now)
	case unread || c.Foreign && c.LastOutput <= c.LastInput: // it is on its way to the line
		return text, true
	case c.lineEmptyLocked(&now):
		return "", false
	case l.sure() && shownAt(now.Left, text):
		return text, false
	case l.sure() && !c.marksTellLocked() && !c.staysLocked(&now):
		return "", false // a program took it as commands
	case !l.Keys && !l.Cut && text == "" && !c.marksTellLocked() && !c.staysLocked(&now):
		return "", false // Enter was the end of it
	}
	if shown := c.behindPromptLocked(&now); shown != "" {
		text = shown
	}
	return text, true
}

// holdsTextLocked reports whether something stands in the line, or may.
func (c *core) holdsTextLocked(canonical, unread bool) bool {
	text, unsure := c.inputLineLocked(canonical, unread)
	return text != "" || unsure
}

// leftoverLocked returns what stands in a line into which nobody has typed since
// it was empty.
func (c *core) leftoverLocked(now *cursorRow) (text string, unsure bool) {
	if c.marksTellLocked() && c.shell.Leftover(now.Left) {
		return c.behindPromptLocked(now), true
	}
	return "", cell.InBlock(now.Left, c.LinePrompt)
}

// marksTellLocked reports whether a shell with marks edits a line, and says
// where it begins. A silent shell does not tell when a command begins.
func (c *core) marksTellLocked() bool {
	return c.shell.Token != "" && (c.shell.AtPrompt() || c.shell.Pending() && !c.shell.Silent)
}

// lineEmptyLocked reports whether the screen shows an empty line: the cursor
// stands where the shell's input begins, or the row is as it was before the
// line's first key, or as the program's prompt was.
func (c *core) lineEmptyLocked(now *cursorRow) bool {
	behind := now.nothingBehind()
	if s := c.LineStart; s != nil {
		if now.onRowOf(s) && now.sameAs(s) {
			return true
		}
		behind = behind || now.Behind == s.Behind
	}
	if !behind {
		return false
	}
	if in := c.shell.Input; c.marksTellLocked() && (now.At.Line == in.Line && now.At.Col == in.Col || c.shell.Shown != "" && now.Left == c.shell.Shown) {
		return true
	}
	known := c.LinePrompt
	return known != "" && (cell.SamePrompt(now.Left, known) || cell.OtherPath(now.Left, known))
}

// staysLocked reports whether the cursor is still in the row where the line was
// begun, and text stands behind what stood there.
func (c *core) staysLocked(now *cursorRow) bool {
	s := c.LineStart
	return s != nil && now.onRowOf(s) && strings.HasPrefix(now.Left, s.Left) && !now.sameAs(s)
}

// behindPromptLocked returns what the row of the cursor shows behind the prompt,
// "" where it shows no prompt.
func (c *core) behindPromptLocked(now *cursorRow) string {
	var prompts []string
	if c.marksTellLocked() {
		prompts = append(prompts, c.shell.Shown)
	}
	if c.LineStart != nil {
		prompts = append(prompts, c.LineStart.Left)
	}
	for _, prompt := range append(prompts, c.LinePrompt) {
		if rest, ok := strings.CutPrefix(now.Left, prompt); ok && prompt != "" {
			if !now.nothingBehind() {
				rest += now.Behind
			}
			return strings.TrimRight(rest, " ")
		}
	}
	return ""
}

// shownAt reports whether a text stands left of the cursor, or so much of its
// end as fits in the row.
func shownAt(left, text string) bool {
	shown := strings.TrimSpace(text)
	return shown != "" && (strings.Contains(left, shown) || left != "" && strings.HasSuffix(shown, strings.TrimSpace(left)))
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
	h.typing.Lock()
	unread, err := h.unreadLocked()
	h.typing.Unlock()
	if err != nil {
		return wire.InputState{}, err
	}
	c := h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	unfinished, unsure := c.inputLineLocked(lineMode, unread > 0)
	if lineMode && !echo { // a password is shown to nobody
		unfinished = strings.Repeat("*", len(unfinished))
	}
	return wire.InputState{Unread: unread, LineMode: lineMode, Echo: echo, Unfinished: unfinished, Unsure: unsure, CursorRow: cell.PromptAt(c.term)}, nil
}

// unreadLocked counts the bytes that were sent and that the program has not
// read. The caller holds typing: what was announced is in the queue.
func (h *Host) unreadLocked() (int, error) {
	queued := h.input.size()
	unread, err := h.tty.InputQueued()
	return queued + unread, err
}

// lineMode reports whether the kernel edits the line, so far as is known.
func (h *Host) lineMode() bool {
	_, canonical, err := h.tty.Echo()
	return err != nil || canonical
}

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

// endsCommand reports whether input that was sent while a command ran ended with
// a key that ends one, or its input: when the command has ended, nothing of it is
// left for the shell.
func endsCommand(data []byte) bool {
	return len(data) > 0 && bytes.IndexByte([]byte{0x03, 0x04, 0x1a, 0x1c}, data[len(data)-1]) >= 0
}

// hasKeys reports whether input has keys other than text, Enter, Backspace and
// Ctrl-C, and may so put an editor into another state.
func hasKeys(data []byte) bool {
	return bytes.IndexFunc(data, func(r rune) bool { return r < ' ' && r != '\r' && r != '\n' && r != 0x03 }) >= 0
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
