package host

import (
	"sync"

	"den/internal/session/wire"
)

// maxBehind bounds the output that is buffered for one slow client. At the
// bound the buffer is dropped, and the client gets the whole screen once it
// reads again.
const maxBehind = 1 << 20

// follower buffers the output for one attached client.
type follower struct {
	mu      sync.Mutex // guards the fields below; taken after core.mu
	pending []byte
	seq     uint64
	repaint bool
	last    *wire.Frame   // or nil: the stream goes on
	wake    chan struct{} // room for one token
}

func newFollower() *follower {
	return &follower{repaint: true, wake: make(chan struct{}, 1)}
}

func (f *follower) push(chunk []byte, seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = seq
	if !f.repaint {
		if len(f.pending)+len(chunk) > maxBehind {
			f.repaint, f.pending = true, nil
		} else {
			f.pending = append(f.pending, chunk...)
		}
	}
	f.poke()
}

// markRepaint makes the whole screen the next frame.
func (f *follower) markRepaint() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaint, f.pending = true, nil
	f.poke()
}

// end makes frame the last of the stream.
func (f *follower) end(frame wire.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = &frame
	}
	f.poke()
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default: // a token lies there already
	}
}

// take returns the next frames, in order. A repaint is made under the core's
// lock, so that no output is lost between it and the following frame.
func (c *core) take(f *follower) (frames []wire.Frame, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.repaint {
		cols, rows := c.term.Size()
		frames = append(frames, wire.Frame{Repaint: true, Cols: cols, Rows: rows, Data: c.term.Dump(), Seq: c.log.Position().Seq})
		f.repaint, f.pending = false, nil
	} else if len(f.pending) > 0 {
		frames = append(frames, wire.Frame{Data: f.pending, Seq: f.seq})
		f.pending = nil
	}
	if f.last != nil {
		frames = append(frames, *f.last)
	}
	return frames, f.last != nil
}
