package host

import (
	"strings"

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
