package screen

import (
	"context"
	"errors"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/place/provider"
)

// stateInterval is how often the state is read where no source tells of
// changes.
const (
	stateInterval = time.Second
	plainInterval = 2 * time.Second // of a program that is no coding agent
)

// Run sends what is queued, now and later, answers what the agent asks late,
// and follows its state, until the context ends.
func (c *Conversation) Run(ctx context.Context) error {
	c.recallPrompt(ctx)
	ctx, stop := context.WithCancel(ctx)
	var watchErr error
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchErr = c.watchState(ctx)
		stop() // without the state, Run is begun anew
	}()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.followPrompt(ctx)
	}()
	err := c.talk(ctx)
	stop()
	<-watched
	<-followed
	return errors.Join(err, watchErr)
}

// talk sends what is queued and answers late dialogs.
func (c *Conversation) talk(ctx context.Context) error {
	late := c.watchLate()
	defer late.stop()
	for {
		if err := c.deliver(ctx, ""); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.queue.Added():
		case <-c.up:
			late.begin()
		case <-late.ticker.C:
			if err := late.answerDialog(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// watchState tells of every change of the state until the context ends, or a
// change could not be kept.
func (c *Conversation) watchState(ctx context.Context) error {
	interval := stateInterval
	var settling <-chan struct{}
	if !c.hints.CodingAgent && c.source == nil {
		// A start has looked at it just now: the next look is not that of all
		// others, of which hundreds may still come up.
		interval, settling = plainInterval, c.settling
	}
	next := time.NewTimer(untilNext(interval))
	defer next.Stop()
	var changes <-chan struct{}
	if c.source != nil {
		changes = c.source.Changes()
	}
	var silence silence
	late := lateReceipts{talk: c}
	states := stateTeller{talk: c, late: &late}
	ctx = provider.Lately(ctx) // what is shown is looked at again soon
	for {
		if err := late.checkInput(ctx); err != nil {
			return err
		}
		if states.waits() || !c.settled(states.told.State) || !silence.goesOn(ctx, c) {
			if err := states.look(ctx); err != nil {
				return err
			}
		}
		for due := false; !due; {
			due = true
			select {
			case <-ctx.Done():
				return nil
			case _, ok := <-changes:
				if !ok {
					changes = nil // the source has ended
				}
			case <-states.again():
			case <-next.C:
				next.Reset(untilNext(interval))
			case <-settling:
				next.Reset(interval)
				due = false
			}
		}
	}
}

// untilNext is the time until the next look of all agents: a keeper that wakes
// once for all of them sleeps longer.
func untilNext(interval time.Duration) time.Duration {
	now := time.Now()
	return now.Truncate(interval).Add(interval).Sub(now)
}

// settled reports whether a state lasts for as long as nothing is written. What
// a source tells may change without that.
func (c *Conversation) settled(s conversation.State) bool {
	switch s.Activity {
	case conversation.Ready:
		return c.source == nil
	case conversation.Asking, conversation.TurnFailed:
		return c.source == nil && s.Source == screenSource
	}
	return false
}

// silence follows whether a session writes, without asking its program.
type silence struct {
	stamp string
}

// goesOn reports whether the session has written nothing since the last call.
func (s *silence) goesOn(ctx context.Context, c *Conversation) bool {
	stamp, err := c.provider.ChangeStamp(ctx, c.session)
	same := err == nil && stamp == s.stamp
	s.stamp = stamp
	return same
}

// keepState keeps a state for those who ask for the last one.
func (c *Conversation) keepState(s conversation.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s
}

func (c *Conversation) stateChanged(last, now seen) error {
	if c.onState != nil {
		c.onState(now.State)
	}
	if last.Activity == conversation.Busy && now.over {
		return c.queue.Answered()
	}
	return nil
}

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
	if c.IsStarting(ctx) || !c.queue.TryClaim() {
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
