package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/base/wake"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// core is the session's state: the event log, the emulator, and the waiters and
// followers of both. One mutex guards all of it. No code does I/O while holding
// it, except to write the log.
type core struct {
	clock func() time.Duration // monotonic, since the session's start
	rest  *tree.Activity       // when nothing happens, memory is returned
	tty   *pty.PTY             // or nil: only its modes are asked for, and set

	mu sync.Mutex // guards the fields below
	coreState
	log  *eventlog.Writer
	term *vt.Terminal

	waiters   map[*waiter]struct{}
	lastCheck time.Duration // when the waiters were last checked
	checkDue  bool          // a check is scheduled
	markBegun []byte        // the begin of a shell's mark, at the end of the output
	left      leftModes
	followers map[*follower]struct{}
	logNews   map[wake.Signal]struct{} // the log has grown, or is over
	logsRead  chan struct{}            // closed when the last log stream has ended; or nil
	shell     cell.ShellMarks
	progress  eventlog.TerminalWork // reported last
	cell      *cellPass             // or nil while no cell runs
	// editorAsked: the shell's editor has asked its question behind this prompt.
	editorAsked bool
	editor      cell.Editor // of the session's own shell
	outdated    int         // bytes of replies in the emulator's outbox whose asker is gone
	ended       *wire.Exit  // or nil while the program runs

	moved  wake.Signal // set once: something was printed or typed, or resized
	paused wake.Signal // set once: the log cannot be written
	held   wake.Signal // set once: replies are held back
}

// coreState is the state of core, apart from log and screen, that survives an
// upgrade.
type coreState struct {
	Held       []byte        `json:"held,omitempty"` // the begun UTF-8 character at the end of the output
	OutputSeq  uint64        `json:"output_seq"`     // seq of the last output
	LastOutput time.Duration `json:"last_output"`    // when it came
	LastInput  time.Duration `json:"last_input"`
	Activity   uint64        `json:"activity,omitempty"` // counts outputs and inputs
	Line       typedLine     `json:"line"`
	LineStart  *cursorRow    `json:"line_start,omitempty"`  // as it was before the first key of the line; or nil: not known
	LinePrompt string        `json:"line_prompt,omitempty"` // left of the cursor when the program last waited and nothing was typed
	// Foreign is set by input that no cell typed, including the terminal's own
	// replies, and cleared when the program is found idle. While it is set the
	// next prompt may be an older one (Ctrl-C may reach a shell that is just
	// about to show a prompt), and code typed there could be lost.
	Foreign   bool            `json:"foreign,omitempty"`
	Inputs    int             `json:"inputs,omitempty"`  // that no cell typed
	Told      int             `json:"told,omitempty"`    // how many of them there were when a caller was last told that what it waited for has come
	Settled   int             `json:"settled,omitempty"` // and when a turn last ended
	Typed     bool            `json:"typed,omitempty"`   // the last command of the shell with marks was begun by no cell
	Stray     cell.StrayInput `json:"stray,omitzero"`
	SyncSince time.Duration   `json:"sync_since,omitempty"` // when the program began a synchronised update
	Echo      echoes          `json:"echo,omitzero"`
	Tail      []byte          `json:"tail,omitempty"` // the end of the output
	Replies   heldReplies     `json:"replies,omitzero"`
}

// maxTail bounds what is kept of the output's end: the drawing of a prompt.
const maxTail = 128

func (c *core) keepTailLocked(chunk []byte) {
	chunk = chunk[max(0, len(chunk)-maxTail):]
	c.Tail = append(c.Tail, chunk...)
	if over := len(c.Tail) - maxTail; over > 0 {
		c.Tail = append(c.Tail[:0], c.Tail[over:]...)
	}
}

// drawnLocked reports whether the last line was drawn with control sequences, as
// line editors show their prompts.
func (c *core) drawnLocked() bool {
	return bytes.IndexByte(c.Tail[bytes.LastIndexByte(c.Tail, '\n')+1:], 0x1b) >= 0
}

// output processes what the program wrote: log, screen, waiters, in this
// order. It reports whether there are replies for the program.
func (c *core) output(chunk []byte) (replies bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Held) > 0 {
		chunk = append(c.Held, chunk...)
		c.Held = nil
	}
	// An incomplete character at the end of a read is held back until the rest
	// arrives: it shows nothing yet, and the log stays valid text.
	if n := unfinished(chunk); n > 0 {
		c.Held = append([]byte(nil), chunk[len(chunk)-n:]...)
		chunk = chunk[:len(chunk)-n]
	}
	chunk = c.newlinesLocked(chunk)
	for {
		n, ended := c.commandEnd(chunk)
		c.outputLocked(chunk[:n])
		if ended && c.shell.Last == 'D' {
			c.settleLocked()
		}
		if chunk = chunk[n:]; len(chunk) == 0 {
			return c.takeRepliesLocked()
		}
	}
}

func (c *core) outputLocked(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	c.OutputSeq = c.log.Append(eventlog.Output, chunk)
	c.flushLocked()
	frames := c.term.Frames()
	c.term.SetSeq(c.OutputSeq)
	c.feedLocked(chunk)
	c.Echo.cover(c.term, chunk)
	c.notesLocked()
	c.keepTailLocked(chunk)
	c.LastOutput = c.clock()
	if c.term.Frames() != frames {
		c.SyncSince = c.LastOutput
	}
	c.happenedLocked()
	c.rotateLocked()
	for f := range c.followers {
		f.push(chunk, c.OutputSeq)
	}
	c.wakeLocked()
}

// unfinished returns the length of an incomplete but so far valid UTF-8
// character at the end of p.
func unfinished(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// append logs an event other than output and returns its sequence number.
func (c *core) append(code string, data []byte) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.appendLocked(code, data)
}

func (c *core) appendLocked(code string, data []byte) uint64 {
	seq := c.log.Append(code, data)
	c.flushLocked()
	c.rotateLocked()
	return seq
}

// note logs a message of the host itself.
func (c *core) note(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // notes are plain values
	}
	c.append(eventlog.Note, raw)
}

// flushLocked flushes the log. A write error does not stop the session: the
// writer pauses, status reports it, and recording continues in a new segment
// when possible.
func (c *core) flushLocked() {
	if err := c.log.Flush(); err != nil {
		c.pausedBy(err)
	}
	c.logGrewLocked()
}

func (c *core) rotateLocked() {
	if err := c.log.RotateIfFull(); err != nil {
		c.pausedBy(err)
	}
}

func (c *core) pausedBy(err error) {
	log.Printf("recording paused: %v", err)
	c.paused.Set()
}

// retryLog tries to resume recording. It reports whether another try is
// needed.
func (c *core) retryLog() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.log.Retry(); err != nil {
		log.Printf("recording stays paused: %v", err)
	}
	if c.log.Stats().Paused != "" {
		return true
	}
	log.Print("recording again")
	return false
}

func (c *core) happenedLocked() {
	c.Activity++
	c.rest.Note()
	c.moved.Set()
}

// lastActivity counts the program's output and input so far.
func (c *core) lastActivity() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Activity
}

// resize resizes the emulator and logs it before the program is notified, so
// that what the program draws for the new size follows the resize in the log.
// The replies are a report to a program that asked for one.
func (c *core) resize(cols, rows int) (seq uint64, replies bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq = c.log.Append(eventlog.Resize, fmt.Appendf(nil, "%dx%d", cols, rows))
	c.flushLocked()
	c.cell.resized(c.term, func() { c.term.Resize(cols, rows) })
	c.Echo.resized()
	c.happenedLocked()
	c.rotateLocked()
	for f := range c.followers {
		f.markRepaint()
	}
	c.wakeLocked()
	return seq, c.takeRepliesLocked()
}

// clearScrollback empties the emulator's scrollback. It is logged as an event
// of its own rather than as an escape sequence: that could split another
// sequence, and would clear the terminals of attached people.
func (c *core) clearScrollback() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq := c.log.Append(eventlog.Clear, nil)
	c.flushLocked()
	if c.cell != nil {
		c.cell.follow(c.term, true) // its rows are taken before they go
	}
	c.term.ClearScrollback()
	c.rotateLocked()
	c.wakeLocked()
	return seq
}

// end logs the program's exit, closes the log and wakes all waiters. The last
// segment begins with the last screen, so that showing it needs no replay.
func (c *core) end(exit wire.Exit) (hash string, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.Held
	c.Held = nil
	c.outputLocked(held) // a character that will never be finished
	if err := c.log.Rotate(); err != nil {
		c.pausedBy(err)
	}
	seq = c.log.Append(eventlog.Exit, strconv.AppendInt(nil, int64(exit.Code), 10))
	if err := c.log.Close(); err != nil {
		log.Printf("close event log: %v", err)
	}
	hash = screen.Hash(screen.Text(c.term))
	return hash, seq
}

// announce wakes all waiters and followers: the program has ended.
func (c *core) announce(exit wire.Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = &exit
	c.logGrewLocked()
	c.checkWaitersLocked()
	for f := range c.followers {
		f.end(wire.Frame{Exited: &exit, Seq: c.log.Position().Seq})
	}
}

// look calls take with the screen and its place in the log. drawing reports
// that it did not, as the program is in the middle of a synchronised update:
// then there is nothing to see yet.
func (c *core) look(force bool, take func(t *vt.Terminal, seq uint64)) (drawing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !force && c.frameLeftLocked() > 0 {
		return true
	}
	take(c.term, c.log.Position().Seq)
	return false
}

// frameLeftLocked returns how long the end of a synchronised update that has
// begun is waited for, or 0.
func (c *core) frameLeftLocked() time.Duration {
	if !c.term.Modes().Sync || c.ended != nil {
		return 0
	}
	return max(0, c.SyncSince+syncPatience-c.clock())
}

func (c *core) modes() vt.Modes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term.Modes()
}

func (c *core) position() eventlog.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Position()
}

func (c *core) size() (cols, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term.Size()
}

// notesPerPass bounds the notes that one pass logs. A program that sends more
// in one chunk of output loses the later ones.
const notesPerPass = 16

// notesLocked logs what the program did to its terminal that no screen shows.
// Of several bells or progress reports in one pass the last is enough.
func (c *core) notesLocked() {
	notes := c.term.TakeNotes()
	if len(notes) == 0 {
		return
	}
	var bell, progress, clipboard *eventlog.TerminalNote
	logged := 0
	for i := range notes {
		n := terminalNote(c.term, &notes[i])
		switch notes[i].Kind {
		case vt.NoteBell:
			bell = &n
		case vt.NoteProgress:
			progress = &n
		case vt.NoteClipboard:
			clipboard = &n
		case vt.NoteNotification:
			if logged++; logged <= notesPerPass {
				c.log.Append(eventlog.Note, n.Encode())
			}
		}
	}
	if progress != nil && *progress.Progress == c.progress {
		progress = nil // nothing new
	}
	for _, n := range []*eventlog.TerminalNote{bell, progress, clipboard} {
		if n == nil {
			continue
		}
		if n.Progress != nil {
			c.progress = *n.Progress
		}
		c.log.Append(eventlog.Note, n.Encode())
		logged++
	}
	if logged > 0 {
		c.flushLocked()
	}
}

// terminalNote is a note as the log holds it.
func terminalNote(term *vt.Terminal, n *vt.Note) eventlog.TerminalNote {
	switch n.Kind {
	case vt.NoteBell:
		return eventlog.TerminalNote{Kind: eventlog.TerminalBell}
	case vt.NoteClipboard:
		data, _ := term.Clipboard()
		return eventlog.TerminalNote{Kind: eventlog.TerminalClipboard, Text: n.Text, Bytes: len(data)}
	case vt.NoteProgress:
		return eventlog.TerminalNote{Kind: eventlog.TerminalProgress, Progress: &eventlog.TerminalWork{State: n.Progress.State.String(), Percent: n.Progress.Percent}}
	}
	return eventlog.TerminalNote{Kind: eventlog.TerminalNotification, Title: n.Title, Text: n.Text}
}
