package terminals

import (
	"context"
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
