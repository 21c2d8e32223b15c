package shim

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/place/provider"
	"den/internal/process/tree"
	"golang.org/x/sys/unix"
)

// logLimit bounds a log file. A full one is kept as the older half and the
// half before it is dropped: a session's log takes twice this on disk.
const logLimit = 4 << 20

// chunk is how much output is read at once.
const chunk = 32 << 10

// output keeps what the command prints: the end of it in memory, more of it
// in a file.
type output struct {
	dir      Dir
	activity *tree.Activity

	mu     sync.Mutex // guards the fields below
	kept   ring
	active time.Time // when the command last wrote, or was started
	log    *os.File  // or nil, when the disk took nothing
	size   int64     // of log
}

func openOutput(dir Dir, a *tree.Activity) (*output, error) {
	f, err := createLog(dir)
	if err != nil {
		return nil, err
	}
	return &output{dir: dir, activity: a, log: f, active: time.Now()}, nil
}

func createLog(dir Dir) (*os.File, error) {
	f, err := os.OpenFile(dir.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the log: %w", err)
	}
	return f, nil
}

// read takes all that comes from the command, until nobody can write any more
// or the deadline that the end sets.
func (o *output) read(pipe *os.File) {
	buf := make([]byte, chunk)
	for {
		n, err := pipe.Read(buf)
		if n > 0 {
			o.take(buf[:n])
		}
		if err != nil {
			return // the end, or the deadline
		}
	}
}

func (o *output) take(p []byte) {
	o.activity.Note()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.active = time.Now()
	o.kept.write(p)
	if o.log == nil {
		return
	}
	if err := o.appendLocked(p); err != nil {
		// The session goes on without its log: what is in memory still serves.
		log.Printf("keep output on disk: %v; no more of it is kept there", err)
		o.log.Close() // Best effort: it has failed already.
		o.log = nil
	}
}

func (o *output) appendLocked(p []byte) error {
	if o.size+int64(len(p)) > logLimit && o.size > 0 {
		if err := os.Rename(o.dir.LogFile(), o.dir.OldLogFile()); err != nil {
			return err
		}
		if err := o.beginLogLocked(); err != nil {
			return err
		}
	}
	n, err := o.log.Write(p)
	o.size += int64(n)
	return err
}

func (o *output) beginLogLocked() error {
	f, err := createLog(o.dir)
	if err != nil {
		return err
	}
	o.log.Close() // Best effort: what it had is written.
	o.log, o.size = f, 0
	return nil
}

func (o *output) peek(lines int) string {
	o.mu.Lock()
	kept, cut := o.kept.bytes(), o.kept.cut
	o.mu.Unlock()
	return LastLines(kept, cut, lines)
}

func (o *output) lastActive() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.active
}

// finish writes the last text for those who look later.
func (o *output) finish() error {
	return atomicfile.Replace(o.dir.LastFile(), []byte(o.peek(0)))
}

// Kept is how much output a shim keeps in memory, and of which it leaves the
// text behind.
const Kept = 1 << 20

// ring keeps the last Kept bytes. It grows as they come: most sessions
// never fill it.
type ring struct {
	buf  []byte
	head int  // where the oldest byte is, once buf is full
	cut  bool // bytes were dropped
}

func (r *ring) write(p []byte) {
	if over := len(p) - Kept; over > 0 {
		p = p[over:]
		r.cut = true
	}
	if room := Kept - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.head:], p)
		r.head = (r.head + n) % Kept
		p = p[n:]
		r.cut = true
	}
}

// bytes returns a copy of what is kept, the oldest first.
func (r *ring) bytes() []byte {
	out := make([]byte, 0, len(r.buf))
	out = append(out, r.buf[r.head:]...)
	return append(out, r.buf[:r.head]...)
}

// LastLines returns the last n lines of output, all of them when n is 0,
// without blank ones at the end. cut says that the beginning is missing: then
// the first line is a part of one and is left out, unless it is all there is.
func LastLines(output []byte, cut bool, n int) string {
	if cut {
		output = wholeLines(output)
	}
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Join(provider.LastLines(strings.Split(text, "\n"), n), "\n")
}

// wholeLines drops a first line that has lost its beginning. Where there is
// only that line, it drops what is left of a character.
func wholeLines(output []byte) []byte {
	if i := bytes.IndexByte(output, '\n'); i >= 0 && i+1 < len(output) {
		return output[i+1:]
	}
	for i := range min(utf8.UTFMax, len(output)) {
		if utf8.RuneStart(output[i]) {
			return output[i:]
		}
	}
	return output
}

// maxInput bounds the text that waits for a command that does not read. At
// the bound more is refused as busy, whole.
const maxInput = 1 << 20

// CheckSize refuses a text that is too long to wait. A client asks it too, so
// that such a text is not sent in vain.
func CheckSize(n int) error {
	if n < maxInput {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Usage, "a text of %d bytes is too long, %d fit", n, maxInput-1), "put it into a file and name that file")
}

// input passes text to the command, one piece after the other.
type input struct {
	pipe *os.File
	wake wake.Signal // one token: look again

	mu     sync.Mutex // guards the fields below
	queue  [][]byte   // the first is being written
	size   int        // of all in queue
	closed bool       // nothing more is taken
}

func newInput(pipe *os.File) *input {
	return &input{pipe: pipe, wake: wake.New()}
}

// put queues one piece: all of it or nothing.
func (q *input) put(piece []byte) error {
	if err := CheckSize(len(piece) - 1); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.unreadLocked() {
		return fault.Hintf(fault.Errorf(fault.NotRunning, "the command has closed its input"), "it takes no text any more; stop the session and start it anew")
	}
	if q.size+len(piece) > maxInput {
		return fault.Hintf(fault.Errorf(fault.Busy, "the command does not read its input: %d bytes wait already", q.size), "try again later, or interrupt it")
	}
	q.queue = append(q.queue, piece)
	q.size += len(piece)
	q.wake.Set()
	return nil
}

// unreadLocked reports whether nobody can read the pipe any more.
func (q *input) unreadLocked() bool {
	raw, err := q.pipe.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, perr := unix.Poll(set, 0)
		gone = perr == nil && n > 0 && set[0].Revents&unix.POLLERR != 0
	})
	return err != nil || gone
}

// unread counts what waits here and in the pipe.
func (q *input) unread() (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, fault.Errorf(fault.NotRunning, "the command has closed its input")
	}
	n, err := pipeQueued(q.pipe)
	return q.size + n, err
}

// run writes until close, or until nobody reads.
func (q *input) run() {
	for range q.wake {
		for piece := q.first(); piece != nil; piece = q.first() {
			if _, err := q.pipe.Write(piece); err != nil {
				q.close() // nobody reads any more, or close was called
				return
			}
			q.written(piece)
		}
	}
}

func (q *input) first() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.queue) == 0 {
		return nil
	}
	return q.queue[0]
}

func (q *input) written(piece []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.queue[0] = nil
	q.queue = q.queue[1:]
	q.size -= len(piece)
	if len(q.queue) == 0 {
		q.queue = nil // so that what it held can go
	}
}

// close ends the input: the command reads the end of the file, run ends, and
// what waits is dropped. It may be called again.
func (q *input) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed, q.queue, q.size = true, nil, 0
	close(q.wake)
	q.pipe.Close() // also breaks off a write
}
