package terminals

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/home"
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
