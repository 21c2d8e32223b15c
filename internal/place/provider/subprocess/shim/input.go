package shim

import (
	"os"
	"sync"

	"den/internal/base/fault"
	"den/internal/base/wake"

	"golang.org/x/sys/unix"
)

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
