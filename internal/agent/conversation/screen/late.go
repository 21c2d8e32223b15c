package screen

import (
	"context"
	"time"

	"den/internal/base/fault"
)

const (
	// lateDialogs is how long after a start its questions are still looked for:
	// codex draws its prompt at once, and a question over it when its server
	// has come up.
	lateDialogs = time.Minute
	// lateInterval is how often.
	lateInterval = 250 * time.Millisecond
)

// lateWatch looks for questions of a start that come when it is over. It
// belongs to Run: whoever types looks for dialogs first, and nobody answers
// one while somebody types.
type lateWatch struct {
	talk      *Conversation
	ticker    *time.Ticker
	until     time.Time
	leftAlone string // the screen whose dialog was not answered
	silence   silence
}

// watchLate begins to look: the agent may have been started by another keeper.
func (c *Conversation) watchLate() *lateWatch {
	w := &lateWatch{talk: c, ticker: time.NewTicker(lateInterval)}
	w.begin()
	return w
}

// begin looks for as long as after a start.
func (w *lateWatch) begin() {
	w.until, w.leftAlone = time.Now().Add(lateDialogs), ""
	if w.talk.hints.CodingAgent {
		w.ticker.Reset(lateInterval)
	} else {
		w.ticker.Stop()
	}
}

func (w *lateWatch) stop() { w.ticker.Stop() }

// answerDialog answers a dialog that is known.
func (w *lateWatch) answerDialog(ctx context.Context) error {
	c := w.talk
	if time.Now().After(w.until) {
		w.ticker.Stop()
		return nil
	}
	if c.starting(ctx) || !c.queue.TryClaim() {
		return nil // the start looks, or whoever sends does
	}
	defer c.queue.Release()
	if w.silence.goesOn(ctx, c) {
		return nil // the screen is as it was
	}
	screen, err := c.peek(ctx, peekLines)
	switch fault.KindOf(err) {
	case "":
	case fault.NotFound, fault.NotRunning, fault.Unsupported:
		return nil // there is nothing to see
	default:
		return err
	}
	d := c.profile.detectDialog(screen)
	if d == nil || screen == w.leftAlone {
		return nil
	}
	w.leftAlone = screen
	err = c.whileTyping(ctx, func() error { return c.answerAlone(ctx, d) })
	if err != nil && fault.KindOf(err) != fault.Waiting {
		return err
	}
	return nil
}
