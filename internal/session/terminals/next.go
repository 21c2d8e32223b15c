package terminals

import (
	"context"
	"maps"
	"slices"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/news"
)

// Next tells what happened in the client's terminals and was not told yet, or
// waits until something does, and reports meanwhile. Calls take turns.
func (c *Client) Next(ctx context.Context, req news.Request, report func(line string)) (news.Answer, error) {
	select {
	case c.collecting <- struct{}{}:
		defer func() { <-c.collecting }()
	case <-ctx.Done():
		return news.Answer{}, ctx.Err()
	}
	req.Cut, req.Warn = session.Run{MaxBytes: c.o.Limits.Output}, c.warn
	var sessions []*session.Session
	byID := map[string]*terminal{}
	had := map[*terminal]int{}
	cur := c.cursor.With(news.Cursor{})
	for _, t := range c.owned() {
		defer c.begin(t)()
		sessions, byID[t.s.Dir.ID] = append(sessions, t.s), t
		place := cur.Sessions[t.s.Dir.ID]
		if shown := c.shownOf(t); shown.cell != "" {
			place.Show(shown.cell, shown.output)
		}
		ends := c.hadOf(t)
		for _, end := range ends {
			place.Have(end)
		}
		had[t] = len(ends)
		cur.Sessions[t.s.Dir.ID] = place
	}
	if len(sessions) == 0 {
		return news.Answer{}, fault.Hintf(fault.Errorf(fault.NotFound, "you have no terminals yet"), "run opens your shell, open another terminal")
	}
	stop := c.report(ctx, slices.Collect(maps.Values(byID)), report)
	a, err := news.Next(ctx, sessions, cur, req)
	stop()
	if err != nil {
		return a, advise(err, nil)
	}
	c.cursor = c.cursor.With(a.Cursor)
	for _, s := range a.Told {
		c.toldBy(byID[s.Dir.ID])
	}
	for t, n := range had {
		c.passedOn(t, n)
	}
	return a, nil
}

// have keeps that the client was told an end.
func (c *Client) have(t *terminal, end string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.had = append(t.had, end); len(t.had) > news.MaxHad {
		t.had = slices.Clone(t.had[1:])
	}
}

func (c *Client) hadOf(t *terminal) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(t.had)
}

// passedOn drops the first n ends: the cursor has them.
func (c *Client) passedOn(t *terminal, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.had = t.had[min(n, len(t.had)):]
}

func (c *Client) shownOf(t *terminal) shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.shown
}

// toldBy keeps what the client was told of a terminal by the events of Next.
func (c *Client) toldBy(t *terminal) {
	r, err := t.s.Poll("")
	if err != nil {
		return // it has run nothing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.asked, t.shown = r.Question, shown{}
	if !r.Final() && !r.Truncated {
		t.shown = shown{r.CellID, r.Output}
	}
}
