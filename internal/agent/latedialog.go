package agent

import (
	"context"
	"time"

	"den/internal/fault"
)

const (
	// lateDialogs is how long after a start its questions are still looked for:
	// codex draws its prompt at once, and a question over it when its server
	// has come up.
	lateDialogs = time.Minute
	// lateLook is how often.
	lateLook = 250 * time.Millisecond
)

// lateWatch looks for questions of a start that come when it is over. It
// belongs to DeliverNudges: whoever types looks for dialogs first, and nobody
// answers one while somebody types.
type lateWatch struct {
	agent     *Managed
	ticker    *time.Ticker
	until     time.Time
	leftAlone string // the screen whose dialog was not answered
}

// watchLate begins to look: the agent may have been started by another keeper.
func (m *Managed) watchLate() *lateWatch {
	w := &lateWatch{agent: m, ticker: time.NewTicker(lateLook)}
	w.begin()
	return w
}

// begin looks for as long as after a start.
func (w *lateWatch) begin() {
	w.until, w.leftAlone = time.Now().Add(lateDialogs), ""
	if w.agent.config.mayAsk() {
		w.ticker.Reset(lateLook)
	} else {
		w.ticker.Stop()
	}
}

func (w *lateWatch) stop() { w.ticker.Stop() }

// look answers a dialog that is known.
func (w *lateWatch) look(ctx context.Context) error {
	m := w.agent
	if time.Now().After(w.until) {
		w.ticker.Stop()
		return nil
	}
	if m.isComingUp() {
		return nil // Start looks
	}
	select {
	case m.nudges.delivering <- struct{}{}:
		defer func() { <-m.nudges.delivering }()
	default:
		return nil // who types looks
	}
	screen, err := m.provider.Peek(ctx, m.session, peekLines)
	switch fault.KindOf(err) {
	case "":
	case fault.NotFound, fault.NotRunning, fault.Unsupported:
		return nil // there is nothing to see
	default:
		return err
	}
	s := recognise(screen)
	if s == nil || screen == w.leftAlone {
		return nil
	}
	w.leftAlone = screen
	if err := m.answerAlone(ctx, s); err != nil && fault.KindOf(err) != fault.Waiting {
		return err
	}
	return nil
}

// tellUp says that a start is over.
func (m *Managed) tellUp() {
	select {
	case m.up <- struct{}{}:
	default: // it is told already
	}
}
