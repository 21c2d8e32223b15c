package host

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"den/internal/base/lazy"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/session/cell"
)

// A hook is a user's program that reads a cell's output line by line, without
// control sequences, and exits when it recognises the end of the cell. The line
// that it has read last is the end: the output stops before it, whatever came
// meanwhile.

// hookQueue bounds the lines queued for a slow hook. At the bound the oldest are
// dropped: a hook looks for the end of the output.
const hookQueue = 4096

// hookTail is how long a line without a newline must be unchanged before the
// hook gets it, if the kernel does not tell whether the program waits.
const hookTail = 50 * time.Millisecond

// hook is one run of it, for one cell.
type hook struct {
	lines *hookLines // of the pass: core.mu guards it and begin
	begin place      // where the line that has not ended begins on the screen
	queue chan hookLine
	stop  chan struct{} // closed when the cell is over
	gone  chan struct{} // closed when the process has ended
	ended chan struct{} // closed when also sent and read are final
	work  sync.WaitGroup

	sent  []hookLine // feed's, until ended: what the hook has not read, as far as is known
	bytes int        // of sent
	read  *hookLine  // the last that it has read, or nil

	readTo atomic.Int64 // the row where that begins: the output goes on to there at least
}

// hookLine is a line for a hook.
type hookLine struct {
	text string
	at   place // where it begins on the screen
}

// startHook runs the user's program for a cell whose output begins at a place.
// The echo of code is left out of what it reads.
func startHook(path, code string, begin place) (*hook, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start hook: %w", err)
	}
	defer out.Close() // the hook has its own
	cmd := exec.Command(path)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return kv == tree.Single })
	cmd.Stdin = out
	if err := cmd.Start(); err != nil {
		in.Close() // Best effort: nothing was written.
		return nil, fmt.Errorf("start hook: %w", err)
	}
	h := &hook{
		lines: newHookLines(code), begin: begin, queue: make(chan hookLine, hookQueue),
		stop: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{}),
	}
	h.readTo.Store(begin.Line)
	h.work.Go(func() {
		defer close(h.gone)
		cmd.Wait() // the host's reaper may be first: either way it has ended
	})
	h.work.Go(func() {
		defer close(h.ended)
		defer in.Close() // Best effort: nobody reads it any more.
		h.feed(in)
		<-h.gone
		h.settle(unreadIn(in))
		if len(h.sent) > 0 && h.bytes > unreadIn(in) { // of this one it has read a part
			h.read = &h.sent[0]
		}
	})
	h.work.Go(func() {
		select {
		case <-h.stop:
			cmd.Process.Kill() // Best effort: it may have ended.
			<-h.gone
		case <-h.gone:
		}
		_ = in.SetWriteDeadline(time.Now()) // a process that it left behind may have the pipe, and read nothing; fails if it is closed
	})
	return h, nil
}

// pushLocked queues the line that a part of the output completes, if any: a part
// goes to the end of a line at most. now is where the cursor is behind it. It
// never blocks.
func (h *hook) pushLocked(part []byte, now place) {
	h.enqueue(h.lines.feed(part))
	if end := part[len(part)-1]; end == '\n' || end == '\r' {
		h.begin = now
	}
}

// restLocked queues the line that has not ended: the program waits for input at
// a place.
func (h *hook) restLocked(now place) {
	h.enqueue(h.lines.rest())
	h.begin = now
}

func (h *hook) enqueue(lines []string) {
	for _, text := range lines {
		line := hookLine{text, h.begin}
		for queued := false; !queued; {
			select {
			case h.queue <- line:
				queued = true
			default:
				select {
				case <-h.queue: // the oldest makes room
				default:
				}
			}
		}
	}
}

// close ends the hook and waits for its goroutines.
func (h *hook) close() {
	close(h.stop)
	h.work.Wait()
}

// hookRows is how many rows that left the screen are kept back for a hook that
// has not read them: the line by which it ends may be among them.
const hookRows = 1000

// hookFlood is how many lines may wait before the hook gets them without a
// look at what it has read.
const hookFlood = hookQueue / 4

// hookPause bounds the pause between two looks at what the hook has read.
const hookPause = 10 * time.Millisecond

// feed writes lines until the cell is over or the hook stops reading. It writes
// a line once the hook has read the one before: one that reads all that is there
// must not take lines behind that by which it ends, or nobody could tell which
// of them it was.
func (h *hook) feed(to *os.File) {
	for {
		select {
		case <-h.stop:
			return
		case <-h.gone:
			return
		case line := <-h.queue:
			if !h.awaitRead(to) {
				return
			}
			h.sent, h.bytes = append(h.sent, line), h.bytes+line.size()
			if _, err := io.WriteString(to, line.text+"\n"); err != nil { // it reads no more, and will end
				h.sent, h.bytes = h.sent[:len(h.sent)-1], h.bytes-line.size()
				return
			}
		}
	}
}

// awaitRead waits until the hook has read all that was written. It returns false
// when it will read no more.
func (h *hook) awaitRead(to *os.File) bool {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, hookPause) {
		h.settle(unreadIn(to))
		switch {
		case len(h.sent) == 0 || len(h.queue) > hookFlood:
			return true
		case pause < precise:
			nap(pause)
			continue
		}
		select {
		case <-h.stop:
			return false
		case <-h.gone:
			return false
		case <-time.After(pause):
		}
	}
}

// settle notes that the hook has read all but the last n bytes.
func (h *hook) settle(n int) {
	for len(h.sent) > 0 && h.bytes-h.sent[0].size() >= n {
		h.bytes -= h.sent[0].size()
		h.read, h.sent = &h.sent[0], h.sent[1:]
		h.readTo.Store(h.read.at.Line)
	}
}

func (l hookLine) size() int { return len(l.text) + 1 }

// restHook hands the hook the line that has not ended, once nobody can add to
// it: the kernel says that the program waits for input or, where it cannot say,
// nothing was written for a while. A program that pauses in the middle of a line
// does not split it.
func (r *running) restHook(o cell.Observed, activity uint64) {
	waits := o.Ready || o.Probe.State == pty.Unknown && o.Quiet >= hookTail
	if r.pass.hook == nil || !o.Sent || !waits {
		return
	}
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Activity == activity { // or more has come since
		r.pass.hook.restLocked(cursorPlace(c.term))
	}
}

// maxHookLine bounds what is kept of a line that does not end. What is longer
// is handed over in parts.
const maxHookLine = 1 << 20

// hookLines splits a cell's output into the lines that a hook gets. They depend
// on the bytes alone, not on how these were cut into chunks: complete lines, and
// the unfinished one only when rest says that the program writes no more.
//
// A line ends at a newline or a carriage return. It has no control sequences and
// no blanks at its ends, and is never empty. The echo of the code is left out.
type hookLines struct {
	part []byte   // of the line that has not ended
	echo []string // what of the code was not echoed yet, without blanks
}

func newHookLines(code string) *hookLines {
	var l hookLines
	for line := range strings.Lines(code) {
		if compact := withoutBlanks(line); compact != "" {
			l.echo = append(l.echo, compact)
		}
	}
	return &l
}

// feed returns the lines that a chunk completes.
func (l *hookLines) feed(chunk []byte) (lines []string) {
	for len(chunk) > 0 {
		room := chunk[:min(len(chunk), maxHookLine-len(l.part))]
		if end := bytes.IndexAny(room, "\r\n"); end >= 0 {
			l.part = append(l.part, chunk[:end]...)
			lines = append(lines, l.take()...)
			chunk = chunk[end+1:]
			continue
		}
		l.part = append(l.part, room...)
		chunk = chunk[len(room):]
		if len(l.part) == maxHookLine {
			lines = append(lines, l.take()...)
		}
	}
	return lines
}

// rest returns the line that has not ended: a prompt, as a rule. It returns none
// while a control sequence or a character in it is incomplete.
func (l *hookLines) rest() []string {
	if openSequence.Get().Match(l.part) {
		return nil
	}
	if r, size := utf8.DecodeLastRune(l.part); r == utf8.RuneError && size == 1 && !utf8.FullRune(lastBytes(l.part)) {
		return nil
	}
	return l.take()
}

// lastBytes returns the bytes of the character that may be incomplete.
func lastBytes(p []byte) []byte {
	begin := len(p) - 1
	for begin > 0 && len(p)-begin < utf8.UTFMax && !utf8.RuneStart(p[begin]) {
		begin--
	}
	return p[begin:]
}

// take returns the line so far, unless it is empty or an echo.
func (l *hookLines) take() []string {
	line := l.part
	l.part = l.part[:0]
	if hasControl(line) {
		line = control.Get().ReplaceAll(line, nil)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	if text == "" || l.isEcho(text) {
		return nil
	}
	return []string{text}
}

// isEcho reports whether a line is the echo of the next line of code, behind a
// prompt or without, or a part of it where the terminal wrapped. The first line
// that is not ends the echo.
func (l *hookLines) isEcho(text string) bool {
	if len(l.echo) == 0 {
		return false
	}
	shown := withoutBlanks(text)
	switch next := l.echo[0]; {
	case strings.HasSuffix(shown, next):
		l.echo = l.echo[1:]
	case strings.HasPrefix(next, shown):
		l.echo[0] = next[len(shown):]
	default:
		l.echo = nil
		return false
	}
	return true
}

func withoutBlanks(s string) string { return strings.Join(strings.Fields(s), "") }

func hasControl(line []byte) bool {
	for _, b := range line {
		if b < ' ' && b != '\t' || b == 0x7f {
			return true
		}
	}
	return false
}

// control matches control sequences.
var control = lazy.Regexp{Expr: "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f]"}

// openSequence matches a control sequence that has not ended, at the end.
var openSequence = lazy.Regexp{Expr: "\x1b(\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$"}
