package host

import (
	"context"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/base/wake"
	"den/internal/session/home"
	"den/internal/session/wire"
)

type sessionManifest = home.Manifest

// attachedSizes decides the terminal's size while people are attached: the
// largest that fits all of their terminals. When the last one leaves, the
// session's own size is restored: attaching has no lasting effect on an agent's
// screen.
type attachedSizes struct {
	mu    sync.Mutex // guards the fields below
	own   wire.Resize
	terms map[*follower]wire.Resize
	typed time.Time // when somebody attached last pressed a key
}

func (a *attachedSizes) setOwn(r wire.Resize) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own = r
}

// set adds or changes one terminal, or removes it if r is nil, and returns the
// size that the session should have.
func (a *attachedSizes) set(f *follower, r *wire.Resize) wire.Resize {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r == nil {
		delete(a.terms, f)
	} else {
		if a.terms == nil {
			a.terms = map[*follower]wire.Resize{}
		}
		a.terms[f] = *r
	}
	if len(a.terms) == 0 {
		return a.own
	}
	var want wire.Resize
	for _, t := range a.terms {
		if want.Cols == 0 || t.Cols < want.Cols {
			want.Cols = t.Cols
		}
		if want.Rows == 0 || t.Rows < want.Rows {
			want.Rows = t.Rows
		}
	}
	return want
}

func (a *attachedSizes) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.terms)
}

func (a *attachedSizes) noteTyped(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.typed = now
}

// lastTyped returns when an attached person last typed, or nil.
func (a *attachedSizes) lastTyped() *time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.typed.IsZero() {
		return nil
	}
	typed := a.typed.UTC()
	return &typed
}

// fit resizes the terminal to suit all attached clients.
func (h *Host) fit(f *follower, r *wire.Resize) {
	want := h.sizes.set(f, r)
	if cols, rows := h.core.size(); want.Cols != cols || want.Rows != rows {
		h.applySize(want)
	}
}

// attach streams the screen to a person's terminal and accepts its input. It
// returns the last frame of the stream, which counts the inputs that were
// taken. The client sends the others to the next host.
func (h *Host) attach(ctx context.Context, c *rpc.Call) (any, error) {
	var a wire.Attach
	if err := c.Decode(&a); err != nil {
		return nil, err
	}
	if err := h.requireRunning(); err != nil {
		return nil, err
	}
	f := newFollower()
	if !a.ReadOnly {
		if err := CheckSize(a.Cols, a.Rows); err != nil {
			return nil, err
		}
		h.fit(f, &wire.Resize{Cols: a.Cols, Rows: a.Rows})
		defer h.leaveAttach(f)
	}
	h.core.follow(f)
	defer h.core.unfollow(f)
	f.wake.Set() // the first paint
	inputs, more, upgrading := 0, c.More, h.upgrading
	for {
		select {
		case <-f.wake:
			frames, done := h.core.take(f)
			for i, frame := range frames {
				frame.Inputs = inputs
				if done && i == len(frames)-1 {
					c.HangUp()
					return frame, nil
				}
				if err := c.Send(frame); err != nil {
					return nil, err
				}
			}
		case req, ok := <-more:
			if !ok {
				more = nil // the context tells whether the client has left
				continue
			}
			if err := h.attachedRequest(f, a.ReadOnly, req); err != nil {
				return nil, err
			}
			if req.Method == wire.MethodInput {
				inputs++
			}
		case <-upgrading:
			f.end(wire.Frame{Upgrade: true})
			upgrading = nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *Host) leaveAttach(f *follower) {
	want := h.sizes.set(f, nil)
	if h.requireRunning() != nil {
		return
	}
	if cols, rows := h.core.size(); want.Cols != cols || want.Rows != rows {
		h.applySize(want)
	}
}

// attachedRequest handles keys and size changes of an attached terminal. It
// sends no response: the effect is visible on the screen.
func (h *Host) attachedRequest(f *follower, readOnly bool, req rpc.Request) error {
	if readOnly {
		return fault.Errorf(fault.Denied, "attached read-only: input is not taken")
	}
	switch req.Method {
	case wire.MethodInput:
		h.sizes.noteTyped(time.Now())
		_, err := call(req, h.typeFor)
		switch fault.KindOf(err) {
		case fault.NotRunning: // the last frame tells
		case fault.Unsupported: // a click, and the program has just turned the mouse off
		default:
			return err
		}
		return nil
	case wire.MethodResize:
		_, err := call(req, func(r wire.Resize) (any, error) {
			if err := CheckSize(r.Cols, r.Rows); err != nil {
				return nil, err
			}
			h.fit(f, &r)
			return nil, nil
		})
		return err
	}
	return fault.Errorf(fault.Protocol, "method %q does not go with an attached terminal", req.Method)
}

func (c *core) follow(f *follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers[f] = struct{}{}
	if c.ended != nil {
		f.end(wire.Frame{Exited: c.ended, Seq: c.log.Position().Seq})
	}
}

func (c *core) unfollow(f *follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.followers, f)
}

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
	last    *wire.Frame // or nil: the stream goes on
	wake    wake.Signal // there is something to take
}

func newFollower() *follower {
	return &follower{repaint: true, wake: wake.New()}
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
	f.wake.Set()
}

// markRepaint makes the whole screen the next frame.
func (f *follower) markRepaint() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaint, f.pending = true, nil
	f.wake.Set()
}

// end makes frame the last of the stream.
func (f *follower) end(frame wire.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = &frame
	}
	f.wake.Set()
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
