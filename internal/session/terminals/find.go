package terminals

import (
	"context"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// toLook finds a terminal that the client may look at: any.
func (c *Client) toLook(ref string) (*terminal, error) {
	t, _, err := c.find(ref)
	return t, err
}

// toUse finds a terminal that the client may use: its own, a kept one, or any
// where that is allowed.
func (c *Client) toUse(ref string) (*terminal, error) {
	t, mine, err := c.find(ref)
	if err != nil || mine || t.kept || c.o.UseOthers {
		return t, err
	}
	if m, err := t.s.Dir.Inspect(); err == nil && m.Status.Final() {
		return nil, fault.Hintf(fault.Errorf(fault.NotRunning, "terminal '%s' is %s", t.name, m.Ending()), "%s", usual[fault.NotRunning])
	}
	return nil, fault.Hintf(fault.Errorf(fault.Denied, "terminal '%s' is not yours", t.name),
		"look at it with snapshot, history or screenshot; open one of your own; 'den mcp --use-others' would let you use it")
}

// toRun is toUse, but without a name it is the client's own shell, which is
// opened if it is not there.
func (c *Client) toRun(ctx context.Context, ref string) (*terminal, error) {
	if ref != "" {
		return c.toUse(ref)
	}
	select {
	case c.openingShell <- struct{}{}:
		defer func() { <-c.openingShell }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t := c.ownShell(); t != nil && isUsable(t) {
		return t, nil
	}
	t, _, err := c.open(ctx, Open{}, true)
	return t, err
}

// isUsable reports whether a terminal's program takes input, or will soon.
func isUsable(t *terminal) bool {
	m, err := t.s.Dir.Inspect()
	return err == nil && (m.Status.Commandable() || m.Status == home.Starting)
}

func (c *Client) ownShell() *terminal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own[c.shell]
}

// find returns a terminal by its name or id, and whether it is the client's.
func (c *Client) find(ref string) (t *terminal, mine bool, err error) {
	if ref == "" {
		t, err := c.implied()
		return t, true, err
	}
	d, err := c.o.Home.Find(ref)
	if err != nil {
		return nil, false, advise(err, hints{fault.NotFound: "list shows the terminals"})
	}
	c.mu.Lock()
	t, mine = c.own[d.ID]
	c.mu.Unlock()
	if mine {
		return t, true, nil
	}
	m, err := d.Inspect()
	if err != nil {
		return nil, false, err
	}
	return &terminal{s: session.In(d, c.o.Session), name: m.Name, kept: m.Labels[KeptLabel] != ""}, false, nil
}

// implied is the terminal of a call that names none: the client's own shell,
// or its only terminal.
func (c *Client) implied() (*terminal, error) {
	if t := c.ownShell(); t != nil {
		return t, nil
	}
	all := c.owned()
	switch len(all) {
	case 0:
		return nil, fault.Hintf(fault.Errorf(fault.NotFound, "you have no terminal yet"), "run opens your shell, open opens another; list shows those of others")
	case 1:
		return all[0], nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return nil, fault.Errorf(fault.Usage, "which session? Yours are %s", strings.Join(names, ", "))
}

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
