package terminals

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/news"
	"den/internal/session/wire"
)

// The sizes that a terminal may have. Programs draw badly beyond them, and
// every screen costs its reader.
const (
	minCols, maxCols = 20, 500
	minRows, maxRows = 5, 200
)

// Open asks for a terminal.
type Open struct {
	Name    string   // or "": one is made
	Command []string // or nil: the shell
	Dir     string   // or "": where clients start; relative to that
	Cols    int      // 0: 120
	Rows    int      // 0: 40
	Keep    bool     // it outlives the client
}

// Opened is a new terminal.
type Opened struct {
	Session string   `json:"session"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Cols    int      `json:"cols"`
	Rows    int      `json:"rows"`
	PID     int      `json:"pid"`
	Kept    bool     `json:"kept,omitempty"`
}

// Open starts a program in a terminal of the client.
func (c *Client) Open(ctx context.Context, o Open) (Opened, error) {
	_, opened, err := c.open(ctx, o, false)
	return opened, err
}

func (c *Client) open(ctx context.Context, o Open, asShell bool) (*terminal, Opened, error) {
	spec, err := c.spec(o)
	if err != nil {
		return nil, Opened{}, err
	}
	if err := c.reserve(); err != nil {
		return nil, Opened{}, err
	}
	if spec.Name == "" {
		spec.Name = c.nextName(asShell)
	}
	s, m, err := session.Create(ctx, c.o.Home, spec, c.o.Session)
	if err != nil {
		c.abandon()
		return nil, Opened{}, advise(err, hints{fault.Busy: "choose another name"})
	}
	t := &terminal{s: s, name: m.Name, kept: spec.Labels[KeptLabel] != "", used: time.Now()}
	if !c.keep(t, asShell) {
		return nil, Opened{}, c.endTooLate(t)
	}
	return t, Opened{Session: m.Name, Command: m.Command, Dir: m.Cwd, Cols: m.Cols, Rows: m.Rows, PID: m.PID, Kept: t.kept}, nil
}

// reserve counts a terminal that is about to be opened, if there may be one
// more.
func (c *Client) reserve() error {
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return errGone
	}
	c.starting++
	starting := c.starting
	c.mu.Unlock()
	if limit := c.o.Limits.Terminals; limit > 0 && c.active()+starting > limit {
		c.abandon()
		return fault.Hintf(fault.Errorf(fault.Busy, "you have %d terminals, and may have no more", limit), "close one that you no longer need")
	}
	return nil
}

func (c *Client) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting--
}

// active counts the client's terminals whose programs run.
func (c *Client) active() (n int) {
	for _, t := range c.owned() {
		if isUsable(t) {
			n++
		}
	}
	return n
}

// nextName returns the name of a terminal that was given none. The first shell
// has the client's own.
func (c *Client) nextName(asShell bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbered++
	if asShell && c.numbered == 1 {
		return c.name
	}
	return fmt.Sprintf("%s-%d", c.name, c.numbered)
}

// keep makes a terminal the client's. It returns false if the client went
// meanwhile.
func (c *Client) keep(t *terminal, asShell bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting--
	if c.gone && !t.kept {
		return false
	}
	c.own[t.s.Dir.ID] = t
	if asShell {
		c.shell = t.s.Dir.ID
	}
	return true
}

// errGone refuses what is asked for while the client goes.
var errGone = fault.Errorf(fault.NotRunning, "the client is about to end")

func (c *Client) endTooLate(t *terminal) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit) // the caller's may be over
	defer cancel()
	if _, err := t.s.ForceKill(ctx, closeGrace); err != nil {
		return err
	}
	return errGone
}

// spec checks what is asked for.
func (c *Client) spec(o Open) (home.Spec, error) {
	dir, err := c.dir(o.Dir)
	if err != nil {
		return home.Spec{}, err
	}
	if o.Cols == 0 {
		o.Cols = session.DefaultCols
	}
	if o.Rows == 0 {
		o.Rows = session.DefaultRows
	}
	if o.Cols < minCols || o.Cols > maxCols || o.Rows < minRows || o.Rows > maxRows {
		return home.Spec{}, fault.Errorf(fault.Usage, "size %dx%d: columns go from %d to %d, rows from %d to %d", o.Cols, o.Rows, minCols, maxCols, minRows, maxRows)
	}
	if len(o.Command) == 0 {
		o.Command = c.o.Shell
	}
	labels := map[string]string{ClientLabel: c.name}
	if c.by != "" {
		labels[ByLabel] = c.by
	}
	if o.Keep || c.o.Keep {
		labels[KeptLabel] = "true"
	}
	env := append(session.WithoutTerminal(c.o.Environ), session.TerminalEnv(c.o.Home, session.DefaultTerm, dir, c.o.Session.Version)...)
	return home.Spec{
		Name: o.Name, Command: o.Command, Cwd: dir, Env: env, Term: session.DefaultTerm, Cols: o.Cols, Rows: o.Rows,
		Labels: labels, RecordInput: home.RecordAuto, LogLimit: c.o.Limits.Log,
	}, nil
}

// dir returns an absolute directory that exists.
func (c *Client) dir(given string) (string, error) {
	dir := given
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.o.Dir, dir)
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return "", fault.Errorf(fault.Usage, "'%s' is not a directory", dir)
	}
	return dir, nil
}

// toLook finds a terminal that the client may look at: any.
func (c *Client) toLook(ref string) (*terminal, error) {
	t, _, err := c.find(ref)
	return t, err
}

// toUse finds a terminal that the client may use: its own, a kept one whose client
// is gone, or any where that is allowed.
func (c *Client) toUse(ref string) (*terminal, error) {
	t, mine, err := c.find(ref)
	if err != nil || mine || c.o.UseOthers {
		return t, err
	}
	if t.kept {
		if there, err := filelock.Held(c.lockOf(t.client)); err != nil || !there {
			return t, err
		}
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
	return &terminal{s: session.In(d, c.o.Session), name: m.Name, kept: m.Labels[KeptLabel] != "", client: m.Labels[ClientLabel]}, false, nil
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
	defer c.report(ctx, []*terminal{t}, report)()
	r, err := t.s.Wait(ctx, conditions)
	if err != nil {
		return Waited{}, advise(err, nil)
	}
	if r.ExitCode != nil && r.Status != wire.WaitCommandEnded {
		c.have(t, news.SessionEnd)
	}
	return Waited{Session: t.name, WaitResult: r}, nil
}

// Shot is a screen.
type Shot struct {
	Session  string
	Question string // that its code asks now, or ""
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
	taken := Shot{Session: t.name, Snapshot: shot}
	if r, err := t.s.Poll(""); err == nil && r.Asks() && ago == 0 {
		taken.Question = r.Question
	}
	return taken, nil
}

// Recording returns the directory of a terminal's event log.
func (c *Client) Recording(ref string) (string, error) {
	t, err := c.toLook(ref)
	if err != nil {
		return "", err
	}
	return t.s.Dir.Log(), nil
}
