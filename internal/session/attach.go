package session

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"den/internal/base/fault"
	"den/internal/session/wire"
)

// An Attachment joins a terminal to a session. It goes on over a host that
// replaces its binary, and sends again what that had not taken. Its methods
// may be called by any number of goroutines.
type Attachment struct {
	s        *Session
	readOnly bool

	mu         sync.Mutex   // guards the fields below
	size, told wire.Resize  // of the terminal, and what the host knows
	client     *Client      // or nil before the host's first frame
	unsent     []wire.Input // what was typed meanwhile
	unknown    []wire.Input // what was sent, and the host did not yet say that it took
	taken      int          // how much of what was sent it said that it took
}

const (
	// maxUnknown bounds what is remembered of sent input; more is not typed in
	// the time between two frames.
	maxUnknown = 4096
	// maxUnsent bounds what may be typed while there is no host to take it, in
	// bytes; what is typed beyond it is dropped.
	maxUnsent = 64 << 10
)

// Attach returns an Attachment for a terminal of that size. One that only
// reads sends and resizes nothing. Nothing happens before Run.
func (s *Session) Attach(a wire.Attach) *Attachment {
	return &Attachment{s: s, readOnly: a.ReadOnly, size: wire.Resize{Cols: a.Cols, Rows: a.Rows}}
}

// Run calls each with what the session shows, frame by frame, until the
// program ends or ctx does. It returns how the program ended.
func (a *Attachment) Run(ctx context.Context, each func(wire.Frame)) (*wire.Exit, error) {
	for {
		frames := 0
		last, err := a.stream(ctx, func(f wire.Frame) {
			frames++
			each(f)
		})
		switch {
		case err == nil && last.Exited == nil: // the host replaced its binary
		case fault.KindOf(err) == fault.Unreachable && frames > 0 && ctx.Err() == nil:
			// The host lives, and cut the connection off: nothing was read for
			// too long, as by a terminal that was stopped.
		default:
			return last.Exited, err
		}
	}
}

// stream attaches once, until the stream's last frame.
func (a *Attachment) stream(ctx context.Context, each func(wire.Frame)) (last wire.Frame, err error) {
	c, err := a.s.dial(ctx)
	if err != nil {
		return last, err
	}
	defer c.Close() // Best effort: all that it had was read.
	defer a.disconnect()
	a.mu.Lock()
	req := wire.Attach{Cols: a.size.Cols, Rows: a.size.Rows, ReadOnly: a.readOnly}
	a.told = a.size
	a.mu.Unlock()
	err = c.Stream(ctx, wire.MethodAttach, req, func(raw json.RawMessage) error {
		last = wire.Frame{}
		if err := json.Unmarshal(raw, &last); err != nil {
			return fault.Errorf(fault.Protocol, "frame is not understood: %w", err)
		}
		each(last)
		a.connected(last, c)
		return nil
	})
	return last, err
}

// connected notes what the host took. After the first frame it takes input.
func (a *Attachment) connected(f wire.Frame, from *Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := min(f.Inputs-a.taken, len(a.unknown)); n > 0 {
		a.unknown = a.unknown[n:]
		a.taken += n
	}
	if a.client == nil && !f.Upgrade {
		a.client = from
		a.tellSizeLocked() // it may have changed since the host was asked
		for _, in := range a.unsent {
			a.sendLocked(in)
		}
		a.unsent = nil
	}
}

// disconnect puts aside what the host did not take before it went: the next
// one gets it.
func (a *Attachment) disconnect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsent = append(a.unknown, a.unsent...)
	a.client, a.unknown, a.taken = nil, nil, 0
}

// Send passes on the bytes of a terminal.
func (a *Attachment) Send(typed []byte) {
	if len(typed) > 0 {
		a.Type(wire.Input{Raw: bytes.Clone(typed)})
	}
}

// Type passes on text, a paste or chords, which the host encodes for the modes
// that the program has set. The chords must be ones that it knows.
func (a *Attachment) Type(in wire.Input) {
	if a.readOnly {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sendLocked(in)
}

func (a *Attachment) sendLocked(in wire.Input) {
	switch {
	case a.client != nil:
		if len(a.unknown) < maxUnknown {
			a.unknown = append(a.unknown, in)
		}
		a.client.Send(wire.MethodInput, in) // Best effort: a broken connection shows in the stream.
	case sizeOf(append(a.unsent, in)) <= maxUnsent:
		a.unsent = append(a.unsent, in)
	}
}

// sizeOf is about how many bytes inputs hold.
func sizeOf(inputs []wire.Input) (n int) {
	for _, in := range inputs {
		n += 16 + len(in.Raw) // the input itself is something, too
		for _, text := range []*string{in.Text, in.Paste} {
			if text != nil {
				n += len(*text)
			}
		}
		for _, chord := range in.Keys {
			n += len(chord)
		}
	}
	return n
}

// Resize tells the session the terminal's new size.
func (a *Attachment) Resize(cols, rows int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.size = wire.Resize{Cols: cols, Rows: rows}
	a.tellSizeLocked()
}

func (a *Attachment) tellSizeLocked() {
	if a.client != nil && a.size != a.told && !a.readOnly {
		a.client.Send(wire.MethodResize, a.size) // Best effort, as above.
		a.told = a.size
	}
}
