package host

import (
	"time"

	"den/internal/base/ident"
	"den/internal/base/lazy"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// heldReplies are replies of the terminal that were not sent yet. What a
// program prints may come from anywhere, and a reply that its asker does not
// read becomes input of whatever reads the terminal next, as a rule a shell. So
// a reply is sent when somebody can read it who may have asked.
type heldReplies struct {
	Data  []byte        `json:"data,omitempty"`
	Since time.Duration `json:"since,omitempty"` // when the first of them came
	Line  bool          `json:"line,omitempty"`  // the terminal was in canonical mode
	Group int           `json:"group,omitempty"` // that was in the foreground then, if not that of the session's own program
	Raw   time.Duration `json:"raw,omitempty"`   // when it was first seen in another mode; 0: not yet
}

// Bounds of what is held.
const (
	maxHeldReplies = 64 << 10
	// lineHold is how long a reply waits for its asker to leave canonical mode,
	// in which nobody can read it: it has no newline.
	lineHold = time.Second
	// markHold is how long a shell that prepares its editor before it reports the
	// command's end may take to report it.
	markHold = 100 * time.Millisecond
	// promptHold is the same for the prompt of a program without marks.
	promptHold = 5 * time.Millisecond
)

// Pauses between two looks at a terminal whose replies are held.
const (
	firstHoldPause = time.Millisecond
	lastHoldPause  = 5 * time.Millisecond
)

// fate is what becomes of replies.
type fate int

const (
	send fate = iota
	hold
	drop
)

// asker is what is known about who may have asked the terminal.
type asker struct {
	canonical bool
	own       bool // the session's own program is in the foreground
	group     int  // in the foreground
	pending   bool // output that was written before the modes were looked at is not handled; only known if it matters
}

// takeRepliesLocked takes the emulator's replies to what was printed, except
// those whose asker is gone. It reports whether some wait to be sent.
func (c *core) takeRepliesLocked() bool {
	replies := c.term.TakeReplies()
	replies = replies[min(c.outdated, len(replies)):]
	c.outdated = 0
	if c.promptStandsLocked() && !c.editorAsksLocked() && !c.shell.Silent {
		replies = nil // a command in the background asked
	}
	if len(replies) > 0 && len(c.Replies.Data)+len(replies) <= maxHeldReplies {
		if len(c.Replies.Data) == 0 {
			c.Replies.Since = c.clock()
		}
		c.Replies.Data = append(c.Replies.Data, replies...)
	}
	return len(c.Replies.Data) > 0
}

// askerGoneLocked drops the replies to what was asked before a mark of the
// shell: a command has ended (D), or a prompt is drawn (A), and whoever asked
// before has read its reply or never will. An editor that asks may do so before
// it draws its prompt.
func (c *core) askerGoneLocked(m vt.Mark) {
	if m.Kind == 'A' && c.editorAsksLocked() {
		return
	}
	c.Replies, c.outdated = heldReplies{}, m.Replied
}

// editorAsksLocked reports whether the editor of the shell at its prompt may ask
// the terminal something.
func (c *core) editorAsksLocked() bool {
	switch c.editor {
	case cell.EditorAsks:
		return !c.shell.Inner
	case cell.EditorAsksFirst:
		return !c.shell.Inner && c.shell.Ends == 0
	}
	return false
}

// repliesDue reports whether there are replies that somebody may wait for.
func (c *core) repliesDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.Replies.Data) > 0 && c.Replies.Raw > 0
}

// settleReplies sends or drops the replies that are held, if it is known what
// is right. Otherwise holdReplies looks again.
func (h *Host) settleReplies() (settled bool) {
	c := h.core
	c.mu.Lock()
	activity, marks := c.Activity, c.shell.Last != 0
	some := len(c.Replies.Data) > 0
	c.mu.Unlock()
	if !some {
		return true
	}
	by := h.lookForAsker(marks)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.Replies.Data) == 0:
		return true
	case c.Activity != activity: // who was seen may have gone
	default:
		switch c.fateLocked(by) {
		case send:
			c.sendRepliesLocked(h.input)
			return true
		case drop:
			c.Replies = heldReplies{}
			return true
		}
	}
	c.held.Set()
	return false
}

// lookForAsker asks the kernel who could read a reply. If it cannot tell, the
// program can.
func (h *Host) lookForAsker(marks bool) (by asker) {
	_, canonical, err := h.tty.Echo()
	if err != nil {
		return by
	}
	by.canonical = canonical
	if by.group, err = h.tty.ForegroundGroup(); err != nil {
		return by
	}
	by.own = by.group == h.manifest().PID
	// After the modes: a shell reports the command's end before it prepares its
	// editor, so with nothing pending no end is on its way.
	by.pending = marks && by.own && !canonical && h.tty.OutputPending()
	return by
}

// fateLocked decides about the replies that are held.
func (c *core) fateLocked(by asker) fate {
	r, now := &c.Replies, c.clock()
	if by.canonical {
		if !r.Line {
			r.Line, r.Raw = true, 0
			if !by.own {
				r.Group = by.group
			}
		}
		return holdFor(now-r.Since, lineHold, drop)
	}
	if r.Raw == 0 {
		r.Raw = max(now, 1)
	}
	switch {
	case r.Group != 0 && r.Group != by.group:
		return drop
	case c.cell != nil && c.cell.prompt != "" && !c.term.Modes().AltScreen:
		if cell.SamePrompt(cell.PromptAt(c.term), c.cell.prompt) {
			return drop
		}
		return holdFor(now-r.Raw, promptHold, send)
	case c.shell.Inner || by.own && c.shell.Last != 0:
		return c.fateInShellLocked(by, now-r.Raw)
	}
	return send
}

// fateInShellLocked decides about replies that a shell with marks would read:
// its editor, or a command that is a part of the shell.
func (c *core) fateInShellLocked(by asker, raw time.Duration) fate {
	switch {
	case c.editorAsksLocked() && c.shell.Last != 'C', c.isEditorsLocked(c.Replies.Data):
		return send
	case c.promptStandsLocked(): // a command in the background asked
		return drop
	case c.shell.Inner && !c.Replies.Line: // the modes of another terminal are not known (ssh)
		return send
	case by.pending || c.marksComeLateLocked():
		return holdFor(raw, markHold, send)
	}
	return send
}

// promptStandsLocked reports whether the shell shows a prompt, and nothing was
// typed since. A silent shell may run what was typed before.
func (c *core) promptStandsLocked() bool { return c.shell.Last == 'B' || c.shell.Last == 'P' }

// marksComeLateLocked reports whether the shell may have prepared its editor
// and not yet have reported that the command has ended.
func (c *core) marksComeLateLocked() bool {
	switch {
	case c.shell.Inner:
		return c.shell.Last == 'C' || c.shell.Silent
	case c.shell.Silent:
		return c.shell.Last != 'D'
	}
	return c.editor == cell.EditorAsks && c.shell.Last == 'C'
}

// holdFor holds for a time.
func holdFor(held, limit time.Duration, then fate) fate {
	if held <= limit {
		return hold
	}
	return then
}

// sendRepliesLocked sends the replies to the program. They are input that no
// cell typed: see coreState.
func (c *core) sendRepliesLocked(to *inputQueue) {
	replies := c.Replies.Data
	c.Replies = heldReplies{}
	editors := c.isEditorsLocked(replies)
	c.Foreign = c.Foreign || !editors || !c.shell.Elsewhere() // an editor far away that has asked reads on
	switch {
	case editors:
		c.editorAsked, c.shell.Asks = true, true
	case c.shell.Last != 0: // before its first prompt the shell itself asks, or its start-up files
		c.Stray.Add(false, true, c.shell.Ends)
	}
	_ = to.push(piece{data: replies}) // Best effort: one that asks without end and never reads loses them.
}

// holdReplies looks again and again whether replies that are held can be sent.
func (h *Host) holdReplies(stop <-chan struct{}) {
	h.settleReplies() // the previous binary may have held some
	for {
		select {
		case <-h.core.held:
		case <-stop:
			return
		}
		for pause := firstHoldPause; ; pause = min(pause*5/4, lastHoldPause) {
			select {
			case <-time.After(pause):
			case <-stop:
				return
			}
			if h.settleReplies() {
				break
			}
		}
	}
}

// inputBlankLocked reports whether the cursor stands where the shell's input
// begins, with nothing behind it on the screen.
func (c *core) inputBlankLocked() bool {
	at, row := c.shell.Input, cursorRowOf(c.term)
	return at.Line == row.At.Line && at.Col == row.At.Col && row.nothingBehind()
}

// cursorReport is the reply to a question where the cursor is.
var cursorReport = lazy.Regexp{Expr: `^\x1b\[[0-9]+;[0-9]+R$`}

// isEditorsLocked reports whether the terminal replied to the line editor of
// sh, which takes the reply: that of busybox asks once behind each prompt where
// the cursor is. No other shell of this kind has an editor, and the terminal
// shows a reply that no editor takes.
func (c *core) isEditorsLocked(replies []byte) bool {
	return c.shell.Silent && c.shell.Last == 'B' && !c.editorAsked && c.inputBlankLocked() && cursorReport.Get().Match(replies)
}

// marksToken returns the token of the session's marks. A session whose program
// is no shell with marks gets one: whatever its program is, it is not reading
// commands itself.
func (c *core) marksToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shell.Token == "" {
		c.shell = cell.ShellMarks{Token: ident.New(time.Now()), Last: 'C', Began: true, Inquiry: c.shell.Inquiry}
	}
	return c.shell.Token
}

// clearing returns what matters to the keys that empty a shell's input: whether
// it is one inside the session's program, and a paste was begun and not ended.
func (c *core) clearing() (inner, pasting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shell.Inner, c.Line.Pasting
}

// innerShell reports whether the marks come from a shell inside the session's
// program.
func (c *core) innerShell() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shell.Inner
}

// shellReads reports whether no command of the shell runs.
func (c *core) shellReads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shell.Last != 'C'
}

// noteSignal records that a signal was sent. A shell at its prompt discards its
// line when it gets to handle it, with what a cell has typed by then: the next
// cell first brings it to a new prompt, as after stray input. It does so when
// the shell is idle: a shell that is still drawing the prompt which the signal
// caused may handle Ctrl-C only with the next key (zsh).
func (c *core) noteSignal(toShell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Foreign = true
	c.happenedLocked()
	if toShell {
		c.Stray.Add(false, true, c.shell.Ends)
	}
}

// noteConsumed records that the program which the shell runs has read all
// input, so that none of it is left for the shell. It holds if the terminal's
// queue is empty while the shell has not reported the command's end. Half a
// line that the terminal still edits is in no queue.
func (h *Host) noteConsumed() {
	c := h.core
	c.mu.Lock()
	stray, runs := c.Stray, c.shell.Last == 'C'
	c.mu.Unlock()
	if !stray.Pending || !runs || h.input.more() {
		return
	}
	if _, canonical, err := h.tty.Echo(); err != nil || canonical && !stray.Entered {
		return
	}
	if !h.tty.Drained() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shell.Last == 'C' { // all output is processed: there was no end before
		c.Stray.Consumed(stray.Count)
	}
}
