package terminals

import (
	"context"
	"errors"
	"sync"
	"time"

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
		if code, _ := codeOf(t.s); code == codeRuns {
			return false
		}
	}
	printed, err := t.s.Dir.LastWrite()
	return err == nil && printed.Before(since)
}
