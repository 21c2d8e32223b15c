package terminals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/session"
	"den/internal/session/home"
)

const (
	// closeGrace is how long a program may take to end after each signal. MCP
	// clients wait only seconds for their servers.
	closeGrace = 500 * time.Millisecond
	// closeLimit bounds the end of one terminal.
	closeLimit = 20 * time.Second
)

// Closed is a terminal that was ended.
type Closed struct {
	Session string `json:"session"`
	Status  string `json:"status"`
	Killed  int    `json:"killed"` // processes that had to be killed
}

// CloseTerminal ends a terminal and all its processes. Its record and its
// recording stay.
func (c *Client) CloseTerminal(ctx context.Context, ref string) (Closed, error) {
	t, err := c.toUse(ref)
	if err != nil {
		return Closed{}, err
	}
	killed, err := t.s.ForceKill(ctx, closeGrace)
	if err != nil {
		return Closed{}, advise(err, nil)
	}
	c.forget(t)
	return Closed{Session: t.name, Status: killed.Status, Killed: killed.Killed}, nil
}

// Close ends the client's terminals but for those that are kept, all at the
// same time.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	again := c.gone
	c.gone = true
	c.mu.Unlock()
	if again {
		return nil
	}
	all := c.owned()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, t := range all {
		if t.kept {
			continue
		}
		ending.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, closeLimit)
			defer cancel()
			_, errs[i] = t.s.ForceKill(ctx, closeGrace)
		})
	}
	ending.Wait()
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, c.lock.Close()) // the file stays: the next client tries again
	}
	return c.releaseName()
}

// CloseIdle ends the client's terminals that nobody has used, and that printed
// nothing, for the time that the limits allow. Kept ones stay, and those whose
// code runs.
func (c *Client) CloseIdle(ctx context.Context, now time.Time) error {
	if c.o.Limits.Idle <= 0 {
		return nil
	}
	var errs []error
	for _, t := range c.owned() {
		if t.kept || !c.isIdle(t, now) {
			continue
		}
		_, err := t.s.ForceKill(ctx, closeGrace)
		if err == nil {
			c.forget(t)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *Client) isIdle(t *terminal, now time.Time) bool {
	since := now.Add(-c.o.Limits.Idle)
	c.mu.Lock()
	unused := t.calls == 0 && t.used.Before(since)
	c.mu.Unlock()
	if !unused {
		return false
	}
	if m, err := t.s.Dir.Inspect(); err == nil && m.Status == home.Running {
		var l Listed
		if l.addCode(t.s); l.Code == codeRuns {
			return false
		}
	}
	printed, err := t.s.Dir.LastWrite()
	return err == nil && printed.Before(since)
}

const lockSuffix = ".lock"

func locksDir(root home.Home) string { return filepath.Join(root.Path, "clients") }

// lockOf returns the path of a client's lock.
func (c *Client) lockOf(client string) string {
	return filepath.Join(locksDir(c.o.Home), filepath.Base(client)+lockSuffix)
}

// nameLength is how much of an id tells one client from another.
const nameLength = 6

// claimName finds a name that no client has, and locks its file for as long as
// the client is there.
func claimName(o Options) (string, *os.File, error) {
	dir := locksDir(o.Home)
	if err := o.Home.CheckOwner(); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fault.Errorf(fault.KindOf(err), "make room for clients in Home %s: %w", o.Home.Path, err)
	}
	for {
		id := ident.New(time.Now())
		name := o.Prefix + "-" + id[len(id)-nameLength:]
		path := filepath.Join(dir, name+lockSuffix)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		lock, err := filelock.Try(path)
		switch {
		case errors.Is(err, filelock.ErrHeld):
			continue
		case err != nil:
			return "", nil, fault.Errorf(fault.KindOf(err), "note that a client is there: %w", err)
		case filelock.Deleted(lock): // it was taken for one that a client left
			lock.Close() // Best effort: it is gone.
			continue
		}
		return name, lock, nil
	}
}

// releaseName gives the name up: nothing of the client is left.
func (c *Client) releaseName() error {
	return errors.Join(os.Remove(c.lock.Name()), c.lock.Close())
}

// CloseOrphans ends the terminals of clients that were killed: nobody holds the
// locks of these.
func CloseOrphans(ctx context.Context, o Options) error {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(locksDir(o.Home)), "*"+lockSuffix))
	if err != nil {
		return fmt.Errorf("look for clients that were killed: %w", err)
	}
	var errs []error
	for _, path := range paths {
		lock, err := filelock.Try(path)
		if errors.Is(err, filelock.ErrHeld) {
			continue
		}
		if err == nil {
			name := strings.TrimSuffix(filepath.Base(path), lockSuffix)
			if err = closeOrphansOf(ctx, o, name); err == nil {
				err = os.Remove(path)
			}
			err = errors.Join(err, lock.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func closeOrphansOf(ctx context.Context, o Options, client string) error {
	dirs, err := o.Home.All()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		m, err := d.Inspect()
		if err != nil || !m.Status.Active() || m.Labels[ClientLabel] != client || m.Labels[KeptLabel] != "" {
			continue // a record that cannot be read names no client
		}
		_, err = session.In(d, o.Session).ForceKill(ctx, closeGrace)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Listed is one terminal as List shows it.
type Listed struct {
	Session  string      `json:"session"`
	Mine     bool        `json:"mine"`
	Shell    bool        `json:"shell,omitempty"` // the client's own: what a call without a session means
	Kept     bool        `json:"kept,omitempty"`
	Status   home.Status `json:"status"`
	Code     string      `json:"code,omitempty"` // running or asking: what was given to it and is not done
	Question string      `json:"question,omitempty"`
	// InnerShell says that Question is the prompt of a shell inside the program.
	InnerShell bool      `json:"inner_shell,omitempty"`
	Command    []string  `json:"command"`
	Cols       int       `json:"cols"`
	Rows       int       `json:"rows"`
	Created    time.Time `json:"created"`
	ExitCode   *int      `json:"exit_code,omitempty"`
}

// The values of Listed.Code.
const (
	codeRuns = "running"
	codeAsks = Asking
)

// List returns the active terminals of the Home, the oldest first, and those of
// the client that are over. A record that cannot be read hides no other.
func (c *Client) List(context.Context) ([]Listed, error) {
	dirs, err := c.o.Home.All()
	if err != nil {
		return nil, err
	}
	all := []Listed{}
	for _, d := range dirs {
		m, err := d.Reconcile()
		if err != nil {
			c.warn(err)
			continue
		}
		c.mu.Lock()
		_, mine := c.own[d.ID]
		shell := c.shell == d.ID
		c.mu.Unlock()
		if !mine && !m.Status.Active() {
			continue
		}
		l := Listed{
			Session: m.Name, Mine: mine, Shell: shell, Kept: m.Labels[KeptLabel] != "", Status: m.Status,
			Command: m.Command, Cols: m.Cols, Rows: m.Rows, Created: m.Created, ExitCode: m.ExitCode,
		}
		if m.Status.Active() {
			l.addCode(session.In(d, c.o.Session))
		}
		all = append(all, l)
	}
	return all, nil
}

// addCode adds whether a session's last code is done, and what it asks.
func (l *Listed) addCode(s *session.Session) {
	rec, err := s.Cells().Load("")
	switch {
	case err != nil || rec.Final(): // mostly nothing was run yet
	case rec.Asks():
		l.Code, l.Question, l.InnerShell = codeAsks, rec.Question, rec.InnerShell
	default:
		l.Code = codeRuns
	}
}

func (c *Client) warn(err error) {
	if c.o.Session.Warn != nil {
		c.o.Session.Warn(err)
	}
}

// shown is the output of unfinished code as a client has read it.
type shown struct {
	cell   string // or "": none
	output string
}

// skipShown leaves out the output that the client has read already. Output that
// was elided, or that its program has changed since, is told whole.
func (c *Client) skipShown(t *terminal, r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := t.shown
	t.shown = shown{}
	if !r.Final() && !r.Truncated {
		t.shown = shown{r.CellID, r.Output}
	}
	if before.cell != r.CellID || before.output == "" || r.Truncated {
		return
	}
	if rest, ok := strings.CutPrefix(r.Output, before.output); ok {
		r.Output, r.Continued = rest, true
	}
}

// report tells, now and then, the last lines of terminals' screens, by turns, until
// the returned func is called. That returns when nothing is told any more.
func (c *Client) report(ctx context.Context, of []*terminal, tell func(string)) (stop func()) {
	if tell == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(c.o.ReportEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				t := of[i%len(of)]
				line := lastLine(ctx, t)
				if len(of) > 1 {
					line = t.name + ": " + line
				}
				tell(line)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// lastLine is the last line of a terminal's screen that is not blank, or "".
func lastLine(ctx context.Context, t *terminal) string {
	shot, err := t.s.PlainSnapshot(ctx, session.Now())
	if err != nil {
		return "" // Best effort: the call itself tells what is wrong.
	}
	text := strings.TrimRight(shot.Screen.Text, "\n ")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
