package host

import (
	"encoding/json"
	"fmt"
	"log"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/screen"
	"den/internal/vt"
	"den/internal/wire"
)

// core is the session's state: the event log, the emulator, and the waiters and
// followers of both. One mutex guards all of it. No code does I/O while holding
// it, except to write the log.
type core struct {
	clock func() time.Duration // monotonic, since the session's start

	mu sync.Mutex // guards the fields below
	coreState
	log  *eventlog.Writer
	term *vt.Terminal

	waiters   map[*waiter]struct{}
	lastLook  time.Duration // when the waiters were last checked
	lookDue   bool          // a check is scheduled
	followers map[*follower]struct{}
	logNews   map[chan struct{}]struct{} // room for one token each: the log has grown, or is over
	logsRead  chan struct{}              // closed when the last log stream has ended; or nil
	shell     cell.ShellMarks
	cell      *cellTurn  // or nil while no cell runs
	ended     *wire.Exit // or nil while the program runs

	active chan struct{} // set once; room for one token: something happened
	paused chan struct{} // set once; room for one token: the log cannot be written
}

// coreState is what core knows beside log and screen. It crosses a host upgrade
// as it is.
type coreState struct {
	Held       []byte        `json:"held,omitempty"` // the begun UTF-8 character at the end of the output
	OutputSeq  uint64        `json:"output_seq"`     // seq of the last output
	LastOutput time.Duration `json:"last_output"`    // when it came
	LastInput  time.Duration `json:"last_input"`
	Activity   uint64        `json:"activity,omitempty"` // counts outputs and inputs
	Line       typedLine     `json:"line"`
	// Foreign is set by input that no cell typed, answers of the terminal
	// included, until the program is seen at rest. A Ctrl-C may meet a shell on its way to the prompt: then the prompt
	// that comes is an older one, and what is typed there is lost.
	Foreign   bool          `json:"foreign,omitempty"`
	SyncSince time.Duration `json:"sync_since,omitempty"` // when the program began a synchronised update
}

// output takes what the program wrote: first the log, then the screen, then
// those who wait. It returns what the terminal answers to the program.
func (c *core) output(chunk []byte) (replies []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Held) > 0 {
		chunk = append(c.Held, chunk...)
		c.Held = nil
	}
	// A character cut by the end of a read waits for its rest: it shows
	// nothing yet, and the log stays text.
	if n := unfinished(chunk); n > 0 {
		c.Held = append([]byte(nil), chunk[len(chunk)-n:]...)
		chunk = chunk[:len(chunk)-n]
	}
	c.outputLocked(chunk)
	replies = c.term.TakeReplies()
	// The program that asked may not read them. Then they are input of the next
	// one: a shell shows them behind its prompt, a moment after the prompt.
	c.Foreign = c.Foreign || len(replies) > 0
	return replies
}

func (c *core) outputLocked(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	c.OutputSeq = c.log.Append(eventlog.Output, chunk)
	c.flushLocked()
	wasSync := c.term.Modes().Sync
	c.feedLocked(chunk)
	c.LastOutput = c.clock()
	if !wasSync {
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

// append writes one event that is not output and returns its seq.
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

// note writes a word of the host itself into the log.
func (c *core) note(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // notes are plain values
	}
	c.append(eventlog.Note, raw)
}

// flushLocked brings the log up to date. A log that cannot be written does
// not stop the session: the writer is paused, status tells, and recording
// goes on in a new segment when it can.
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
	select {
	case c.paused <- struct{}{}:
	default: // a token lies there already
	}
}

// retryLog tries to record again and reports whether it must be tried later.
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
	c.stir()
}

// stir wakes who gives memory back at rest.
func (c *core) stir() {
	select {
	case c.active <- struct{}{}:
	default: // a token lies there already
	}
}

// lastActivity counts the program's output and input so far.
func (c *core) lastActivity() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Activity
}

// resize changes the emulator and the log together, before the program hears
// of it: what it draws for the new size then comes after the resize in the log.
func (c *core) resize(cols, rows int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq := c.log.Append(eventlog.Resize, fmt.Appendf(nil, "%dx%d", cols, rows))
	c.flushLocked()
	c.cell.resized(c.term, func() { c.term.Resize(cols, rows) })
	c.happenedLocked()
	c.rotateLocked()
	for f := range c.followers {
		f.markRepaint()
	}
	c.wakeLocked()
	return seq
}

// clearScrollback empties the emulator's scrollback. It is an event of its own
// and not the bytes that a program would send: those could fall into the
// middle of a sequence, and would clear the terminals of people who are
// attached.
func (c *core) clearScrollback() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	seq := c.log.Append(eventlog.Clear, nil)
	c.flushLocked()
	if c.cell != nil {
		c.cell.follow(c.term) // its rows are taken before they go
	}
	c.term.ClearScrollback()
	c.rotateLocked()
	c.wakeLocked()
	return seq
}

// end closes the log with how the program ended and tells all who wait. The
// last segment begins with the last screen, so a look at it costs no replay.
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

// announce tells all who wait that the program ended.
func (c *core) announce(exit wire.Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = &exit
	c.logGrewLocked()
	c.lookLocked()
	for f := range c.followers {
		f.end(wire.Frame{Exited: &exit, Seq: c.log.Position().Seq})
	}
}

// snapshot captures the screen.
func (c *core) snapshot(scrollback int) wire.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return wire.Snapshot{Seq: c.log.Position().Seq, Screen: screen.Capture(c.term, scrollback)}
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
