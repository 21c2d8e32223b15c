package host

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/process/pty"
	"den/internal/screen/eventlog"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// maxQueued bounds the bytes that wait for a program that does not read. At
// the bound more input is refused as busy.
const maxQueued = 32 << 20

// Between two chords the program gets the chance to read the first: programs
// that take one read for one key press would drop the second. The wait ends
// when the terminal's input queue is empty, or after readLimit. After a lone
// Escape it lasts escapeGap, so that Escape and a letter are not taken for Alt.
const (
	readLimit = 100 * time.Millisecond
	escapeGap = 60 * time.Millisecond
)

// piece is one write to the terminal.
type piece struct {
	data  []byte
	apart bool // the program should read it before the next piece comes
	brisk bool // and needs no time beyond that
}

// isEscape reports whether it is the Escape key, and not a part of what somebody
// attached sends.
func (p piece) isEscape() bool { return p.apart && len(p.data) == 1 && p.data[0] == 0x1b }

// inputQueue holds what is to be written to the terminal, in order. A program
// may leave its input unread for hours; its host must not block on it.
type inputQueue struct {
	tty *pty.PTY

	mu     sync.Mutex // guards the fields below
	pieces []piece
	bytes  int
	coming int         // what is announced
	wake   wake.Signal // there is more
}

func newInputQueue(tty *pty.PTY) *inputQueue {
	return &inputQueue{tty: tty, wake: wake.New()}
}

// push queues pieces, all or none.
func (q *inputQueue) push(pieces ...piece) error {
	n := 0
	for _, p := range pieces {
		n += len(p.data)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.roomLocked(n); err != nil {
		return err
	}
	q.pieces = append(q.pieces, pieces...)
	q.bytes += n
	q.wake.Set()
	return nil
}

// announce reserves room for n bytes, or returns an error if there is none.
// Input is logged only after it was announced, so that refused input is not
// logged.
func (q *inputQueue) announce(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.roomLocked(n); err != nil {
		return err
	}
	q.coming++
	return nil
}

// announced releases a reservation: the bytes are in the queue now.
func (q *inputQueue) announced() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.coming--
}

func (q *inputQueue) roomLocked(n int) error {
	if q.bytes+n <= maxQueued {
		return nil
	}
	err := fault.Errorf(fault.Busy, "the program does not read its input: %d bytes wait already", q.bytes)
	return fault.Hintf(err, "see what it does with 'den snapshot', interrupt it with 'den keys C-c'")
}

// run writes queued input until stop is closed. The rest stays in the queue.
func (q *inputQueue) run(stop <-chan struct{}) {
	var escape piece // the last one, if it was a lone Escape
	var escaped time.Time
	for {
		p, ok := q.next()
		if !ok {
			select {
			case <-q.wake:
				continue
			case <-stop:
				return
			}
		}
		// A key of the next call may come as soon as one of the same call.
		if escape.data != nil && time.Since(escaped) < escapeGap {
			q.awaitRead(escape, stop)
		}
		escape = piece{}
		n, err := q.tty.Write(p.data)
		q.wrote(n, err == nil)
		if err != nil {
			// Either the terminal hung up, and nobody will read this any
			// more, or stop broke the write off by a deadline.
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				q.drop()
			}
			select {
			case <-stop:
				return
			default:
				continue
			}
		}
		switch {
		case p.apart && q.more():
			q.awaitRead(p, stop)
		case p.isEscape():
			escape, escaped = p, time.Now()
		}
	}
}

func (q *inputQueue) next() (piece, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pieces) == 0 {
		return piece{}, false
	}
	return q.pieces[0], true
}

// more reports whether some input has not reached the program.
func (q *inputQueue) more() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pieces) > 0 || q.coming > 0
}

// wrote removes n written bytes from the first piece.
func (q *inputQueue) wrote(n int, whole bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= n
	if whole {
		q.pieces = slices.Delete(q.pieces, 0, 1)
		return
	}
	q.pieces[0].data = q.pieces[0].data[n:]
}

// size counts the bytes that were not written yet.
func (q *inputQueue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

func (q *inputQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pieces, q.bytes = nil, 0
}

// rest returns what was not written, for the host that takes over.
func (q *inputQueue) rest() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []byte
	for _, p := range q.pieces {
		all = append(all, p.data...)
	}
	return all
}

// awaitRead waits until the program has read what was written. In canonical
// mode it returns at once: there the terminal delivers one line per read.
func (q *inputQueue) awaitRead(last piece, stop <-chan struct{}) {
	if _, canonical, err := q.tty.Echo(); err != nil || canonical {
		return
	}
	least := time.Duration(0)
	if last.isEscape() {
		least = escapeGap
	}
	pause := time.Millisecond
	if last.brisk {
		pause = 20 * time.Microsecond // a program that waits reads at once
	}
	for begun := time.Now(); time.Since(begun) < readLimit; pause = min(2*pause, time.Millisecond) {
		if n, err := q.tty.InputQueued(); (err != nil || n == 0) && time.Since(begun) >= least {
			return
		}
		if pause < precise {
			nap(pause)
			continue
		}
		select {
		case <-time.After(pause):
		case <-stop:
			return
		}
	}
}

// encodeAll is encode for inputs that follow one another. The program should
// read each before the next one comes.
func encodeAll(ins []wire.Input, m vt.Modes) (pieces []piece, recorded []byte, err error) {
	if len(ins) == 0 {
		return nil, nil, fault.Errorf(fault.Usage, "nothing to send")
	}
	for i, in := range ins {
		next, bytes, err := encode(in, m)
		if err != nil {
			return nil, nil, err
		}
		if i < len(ins)-1 {
			next[len(next)-1].apart = true
		}
		pieces, recorded = append(pieces, next...), append(recorded, bytes...)
	}
	return pieces, recorded, nil
}

// encode converts a request into writes, according to the terminal's modes,
// and into the bytes that may be logged.
func encode(in wire.Input, m vt.Modes) (pieces []piece, recorded []byte, err error) {
	switch {
	case in.Text != nil:
		text := keys.Text(*in.Text)
		if len(text) > 0 {
			pieces = append(pieces, piece{data: text, apart: in.Enter})
		}
	case in.Paste != nil:
		pieces = []piece{{data: keys.Paste([]byte(*in.Paste), m), apart: in.Enter}}
	case in.Raw != nil:
		pieces = []piece{{data: in.Raw}}
	default:
		for _, name := range in.Keys {
			presses, err := encodeKey(name, m)
			if err != nil {
				return nil, nil, err
			}
			pieces = append(pieces, presses...)
		}
	}
	if in.Enter && (in.Text != nil || in.Paste != nil) {
		enter, err := encodeKey("Enter", m)
		if err != nil {
			return nil, nil, err
		}
		pieces = append(pieces, enter...)
	}
	for _, p := range pieces {
		recorded = append(recorded, p.data...)
	}
	if len(pieces) == 0 {
		return nil, nil, fault.Errorf(fault.Usage, "nothing to send: the text is empty")
	}
	return pieces, recorded, nil
}

// encodeKey returns one piece a press.
func encodeKey(name string, m vt.Modes) ([]piece, error) {
	chord, err := keys.Parse(name)
	if err != nil {
		return nil, err
	}
	data, err := chord.Once().Encode(m)
	if err != nil {
		return nil, err
	}
	pieces := make([]piece, chord.Times())
	for i := range pieces {
		pieces[i] = piece{data: data, apart: true}
	}
	return pieces, nil
}

// atRest records that the program was idle at the given activity count: all
// input sent before has taken effect.
func (c *core) atRest(activity uint64, canonical bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Activity == activity {
		c.restedLocked(canonical)
	}
}

// settled records that all input sent before the given activity count has taken
// effect, as far as can be told where the program is not seen at rest.
func (c *core) settled(activity uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Activity == activity {
		c.Foreign = false
	}
}

// recordInput logs input before the program gets it. Input typed while echo is
// off may be a password: only its length is logged. Input that no cell typed
// is foreign: see coreState. If there was output after the event that its
// sender has seen, or the question that it answers is not asked any more,
// or something stands in the line that must be empty, nothing is logged, and the
// result says why, with the number of that output.
func (c *core) recordInput(policy string, mode ttyMode, data []byte, by typist) (seq uint64, refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case by.after != nil && c.OutputSeq > *by.after:
		return c.OutputSeq, wire.RefusedOutput
	case by.question != nil && c.asksOtherLocked(*by.question, by.above):
		return c.OutputSeq, wire.RefusedQuestion
	case by.emptyLine && c.holdsTextLocked(mode.canonical, by.unread):
		return c.OutputSeq, wire.RefusedLine
	}
	c.beginLineLocked(mode.canonical)
	c.LastInput = c.clock()
	c.shell.Typed()
	c.Foreign = c.Foreign || by.foreign || by.clears
	c.Line.typed(data, mode.canonical)
	if by.foreign {
		c.Inputs++
		entered := c.Line.entered(data) || (c.shell.Last == 'C' || c.shell.NoEditor()) && endsCommand(data)
		c.Stray.Add(entered, hasKeys(data), c.shell.Ends)
	}
	c.happenedLocked()
	seq = c.appendInputLocked(policy, mode, data)
	c.Echo.typed(data, seq, mode, c.term)
	return seq, ""
}

func (c *core) appendInputLocked(policy string, mode ttyMode, data []byte) uint64 {
	if policy == home.RecordAll && mode.hides() {
		c.appendLocked(eventlog.Note, eventlog.UnechoedNote())
	}
	if policy == home.RecordAll || policy == home.RecordAuto && mode.echo {
		return c.appendLocked(eventlog.Input, data)
	}
	raw, err := json.Marshal(map[string]int{"bytes": len(data)})
	if err != nil {
		panic(err) // a map of ints always encodes
	}
	return c.appendLocked(eventlog.Hidden, raw)
}
