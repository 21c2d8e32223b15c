package terminals

import (
	"context"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/wire"
)

// Typed is input that was sent.
type Typed struct {
	Session string `json:"session"`
	Seq     uint64 `json:"seq"` // a baseline for Wait
}

// Type sends input to a terminal's program.
func (c *Client) Type(ctx context.Context, ref string, in wire.Input) (Typed, error) {
	t, err := c.toUse(ref)
	if err != nil {
		return Typed{}, err
	}
	defer c.begin(t)()
	c.tell(t, "")
	seq, err := t.s.Input(ctx, in)
	return Typed{Session: t.name, Seq: seq}, advise(err, nil)
}

// Waited is what a wait saw last.
type Waited struct {
	Session string `json:"session"`
	*wire.WaitResult
}

// Wait waits until a terminal's screen meets all conditions.
func (c *Client) Wait(ctx context.Context, ref string, conditions wire.Wait, report func(string)) (Waited, error) {
	t, err := c.toLook(ref)
	if err != nil {
		return Waited{}, err
	}
	defer c.begin(t)()
	defer c.report(ctx, t, report)()
	r, err := t.s.Wait(ctx, conditions)
	if err != nil {
		return Waited{}, advise(err, nil)
	}
	return Waited{Session: t.name, WaitResult: r}, nil
}

// Shot is a screen.
type Shot struct {
	Session string
	*wire.Snapshot
}

// Snapshot returns a terminal's screen, with so many lines above it: as it is
// now, or as it was so long ago.
func (c *Client) Snapshot(ctx context.Context, ref string, ago time.Duration, scrollback int) (Shot, error) {
	t, err := c.toLook(ref)
	if err != nil {
		return Shot{}, err
	}
	defer c.begin(t)()
	at := session.Now()
	if ago > 0 {
		at = session.At(-ago)
	}
	shot, err := t.s.Snapshot(ctx, at, scrollback)
	if err != nil {
		return Shot{}, advise(err, hints{fault.NotFound: "the recording no longer has that moment"})
	}
	return Shot{Session: t.name, Snapshot: shot}, nil
}

// Recording returns the directory of a terminal's event log.
func (c *Client) Recording(ref string) (string, error) {
	t, err := c.toLook(ref)
	if err != nil {
		return "", err
	}
	return t.s.Dir.Log(), nil
}
