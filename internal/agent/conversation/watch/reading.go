package watch

import (
	"sync"

	"den/internal/agent/conversation"
)

// lookBack is how much of a file's end is searched for a message. One further
// up was asked too long ago.
const lookBack = 16 << 20

// A Reading reads a record that grows for what it tells of one message: each
// line once, for as long as the message is the same.
type Reading[T any] struct {
	New   func(m conversation.Asked) T // what is known before the first line
	Apply func(turn T, line []byte)    // takes a line in; one that it cannot read is none

	mu    sync.Mutex // guards the fields below, and is held while the file is read
	tail  *Tail      // or nil
	asked conversation.Asked
	turn  T
}

// Read takes the new lines in and calls tell with what is known then. Nobody
// else reads meanwhile.
func (r *Reading[T]) Read(path string, m conversation.Asked, tell func(T)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail == nil || r.tail.Path != path || r.asked != m {
		tail, err := TailFrom(path, lookBack)
		if err != nil {
			return err
		}
		r.tail, r.asked, r.turn = tail, m, r.New(m)
	}
	err := r.tail.Read(func() { r.turn = r.New(m) }, func(line []byte) { r.Apply(r.turn, line) })
	if err == nil {
		tell(r.turn)
	}
	return err
}
