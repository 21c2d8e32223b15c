package terminals

import (
	"context"
	"strings"
	"time"

	"den/internal/session"
	"den/internal/session/home"
)

// Listed is one terminal as List shows it.
type Listed struct {
	Session  string      `json:"session"`
	Mine     bool        `json:"mine"`
	Shell    bool        `json:"shell,omitempty"` // the client's own: what a call without a session means
	Kept     bool        `json:"kept,omitempty"`
	Status   home.Status `json:"status"`
	Code     string      `json:"code,omitempty"` // running or asking: what was given to it and is not done
	Question string      `json:"question,omitempty"`
	Command  []string    `json:"command"`
	Cols     int         `json:"cols"`
	Rows     int         `json:"rows"`
	Created  time.Time   `json:"created"`
	ExitCode *int        `json:"exit_code,omitempty"`
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
			l.Code, l.Question = codeOf(session.In(d, c.o.Session))
		}
		all = append(all, l)
	}
	return all, nil
}

// codeOf tells whether a session's last code is done, and what it asks.
func codeOf(s *session.Session) (code, question string) {
	rec, err := s.Cells().Load("")
	switch {
	case err != nil || rec.Final(): // mostly nothing was run yet
		return "", ""
	case rec.Asks():
		return codeAsks, rec.Question
	}
	return codeRuns, ""
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

// report tells, now and then, the last line of a terminal's screen, until the
// returned func is called. That returns when nothing is told any more.
func (c *Client) report(ctx context.Context, t *terminal, tell func(string)) (stop func()) {
	if tell == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(c.o.ReportEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				tell(lastLine(ctx, t))
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
