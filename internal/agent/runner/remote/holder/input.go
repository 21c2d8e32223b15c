package holder

import (
	"io"
	"sync"

	"den/internal/base/wake"
)

// maxInput bounds the input that waits for a command that does not read. It is
// as long as the longest line of a driver.
const maxInput = 64 << 20

// input hands a command its input. Putting never waits: what comes behind it,
// a signal or the end, must arrive while the command does not read.
type input struct {
	pipe io.WriteCloser
	wake wake.Signal // room for one token: there is something to write

	mu    sync.Mutex // guards the fields below
	parts [][]byte
	size  int
	ended bool // nothing more comes
}

func newInput(pipe io.WriteCloser) *input {
	return &input{pipe: pipe, wake: wake.New()}
}

// put queues a part. It is false where too much waits already.
func (q *input) put(part []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(part) > maxInput {
		return false
	}
	q.parts = append(q.parts, part)
	q.size += len(part)
	q.wake.Set()
	return true
}

// end closes the command's input behind what waits.
func (q *input) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.wake.Set()
}

// next takes the first part. With none it tells whether one may come.
func (q *input) next() (part []byte, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.parts) == 0 {
		return nil, !q.ended
	}
	part = q.parts[0]
	q.parts[0] = nil
	q.parts = q.parts[1:]
	q.size -= len(part)
	return part, true
}

// run writes until the end, or until stop is closed. A command that has closed
// its input, or has ended, is not given any more.
func (q *input) run(stop <-chan struct{}) {
	defer q.pipe.Close() // Best effort: all of it was written, or nobody reads it.
	for {
		part, more := q.next()
		switch {
		case part != nil:
			if _, err := q.pipe.Write(part); err != nil {
				return
			}
		case !more:
			return
		default:
			select {
			case <-q.wake:
			case <-stop:
				return
			}
		}
	}
}
