package terminals

import (
	"context"
	"strings"
	"time"

	"den/internal/session"
)

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
