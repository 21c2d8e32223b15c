package screen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"den/internal/conversation/outbox"
	"den/internal/fault"
	"den/internal/poll"
	"den/internal/provider"
)

// Run sends what is queued, now and later, until the context ends, and answers
// what the agent asks late.
func (c *Conversation) Run(ctx context.Context) error {
	late := c.watchLate()
	defer late.stop()
	for {
		if _, err := c.deliver(ctx, ""); err != nil && ctx.Err() == nil {
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

// Deliver sends what is queued until the message with the id has come to its
// end. If the context ends before, the message stays queued.
func (c *Conversation) Deliver(ctx context.Context, id string) (outbox.Message, error) {
	return c.deliver(ctx, id)
}

// deliver sends what is queued, in order, until the message with the id has
// come to its end; all of it without an id.
func (c *Conversation) deliver(ctx context.Context, id string) (outbox.Message, error) {
	claimed := false
	// Another caller may be sending, and bring this one to its end meanwhile.
	err := poll.Until(ctx, func() (bool, error) {
		if m, err := c.queue.Get(id); err == nil && m.Status.Final() {
			return true, nil
		}
		claimed = c.queue.TryClaim()
		return claimed, nil
	})
	if claimed {
		err = c.sendUntil(ctx, id)
		c.queue.Release()
	}
	if id == "" {
		return outbox.Message{}, err
	}
	m, gerr := c.queue.Get(id)
	if gerr != nil {
		return outbox.Message{ID: id}, gerr
	}
	return m, outcome(m, err)
}

// sendUntil sends messages in their order until the one with the id is over,
// or all are.
func (c *Conversation) sendUntil(ctx context.Context, id string) error {
	for {
		if m, err := c.queue.Get(id); id != "" && (err != nil || m.Status.Final()) {
			return err
		}
		m, ok := c.queue.Next()
		if !ok {
			return nil
		}
		if err := c.sendOne(ctx, m); err != nil {
			return err
		}
	}
}

// outcome is the error of a message that failed, nil for another that is over,
// else err.
func outcome(m outbox.Message, err error) error {
	switch {
	case m.Status == outbox.Failed:
		return fault.Errorf(fault.Usage, "nudge %s cannot be typed: %s", m.ID, m.Reason)
	case m.Status.Final():
		return nil
	}
	return err
}

// sendOne brings one message to its end, or returns the context's error.
func (c *Conversation) sendOne(ctx context.Context, m outbox.Message) error {
	if m.Status == outbox.Sending {
		if !c.untouched(ctx, m) {
			return c.queue.Finish(m.ID, outbox.Unconfirmed, "the keeper ended while it was typed")
		}
		if err := c.queue.Update(m.ID, func(m *outbox.Message) { m.Status = outbox.Queued }); err != nil {
			return err
		}
	}
	for {
		before, err := c.awaitClear(ctx, m.ID)
		if err != nil {
			return err
		}
		err = c.queue.Update(m.ID, func(m *outbox.Message) {
			m.Status, m.Before, m.Reason = outbox.Sending, hash(before), ""
			m.Attempts++
		})
		if err != nil {
			return err
		}
		again, err := c.typeMessage(ctx, m, before)
		if err != nil || !again {
			return err
		}
	}
}

// typeMessage types the message and checks whether it went in. From here on
// the caller's context does not matter: half a message helps nobody. again is
// true where it was certainly not sent.
func (c *Conversation) typeMessage(ctx context.Context, m outbox.Message, before string) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second+c.timing.Confirm+c.timing.Patience)
	defer cancel()
	life := c.life(ctx)
	err = c.provider.Nudge(ctx, c.session, m.Text)
	switch fault.KindOf(err) {
	case fault.Usage, fault.Unsupported:
		return false, c.queue.Finish(m.ID, outbox.Failed, err.Error())
	case fault.NotFound, fault.NotRunning, fault.Busy:
		// Nothing was typed, or what it was typed at is gone.
		return true, c.queue.Update(m.ID, func(m *outbox.Message) { m.Status, m.Reason = outbox.Queued, err.Error() })
	}
	status, reason := c.confirm(ctx, m.Text, before)
	if status == outbox.Delivered && c.life(ctx) != life {
		status, reason = outbox.Unconfirmed, "the agent ended while it was typed" // what was seen is another one's screen
	}
	if err != nil && status == outbox.Unconfirmed {
		reason = err.Error()
	}
	return false, c.queue.Finish(m.ID, status, reason)
}

// awaitClear waits until the agent runs, nobody types, no dialog is open and it
// takes input, and returns the screen as it is then. An agent that stays busy
// is not waited for longer than Patience: those worth nudging keep what is
// typed meanwhile.
func (c *Conversation) awaitClear(ctx context.Context, id string) (string, error) {
	watch := c.WatchReady(ctx)
	defer watch.Stop()
	began := time.Now()
	var screen string
	var still stillness
	lastWhy := ""
	leftAlone := ""
	err := poll.Every(ctx, 250*time.Millisecond, func() (bool, error) {
		why, now, err := c.obstacle(ctx)
		if err != nil {
			return false, err
		}
		if why != lastWhy {
			watch.again() // what was ready before says nothing about now
		}
		lastWhy = why
		if d := detectDialog(now); d != nil && c.hints.CodingAgent && why == dialogOpen && now != leftAlone {
			// A question of its start that came late.
			leftAlone = now
			if err := c.answerAlone(ctx, d); err != nil && fault.KindOf(err) != fault.Waiting {
				return false, err
			}
		}
		stands := still.since(now)
		patience := c.timing.Patience
		if c.hints.CodingAgent && blank(now) {
			patience *= notDrawn
		}
		if why == "" && !c.takesInput(now, stands, watch) && time.Since(began) < patience {
			why = "it is busy"
		}
		c.queue.SetReason(id, why)
		screen = now
		return why == "", nil
	})
	return screen, err
}

const dialogOpen = "a dialog is open"

// answerAlone answers a dialog unless somebody is there to do it.
func (c *Conversation) answerAlone(ctx context.Context, d *detectedDialog) error {
	if a, ok := c.provider.(provider.Audience); ok {
		if n, _, err := a.Attached(ctx, c.session); err != nil || n > 0 {
			return err
		}
	}
	return c.answer(ctx, d)
}

// obstacle says why nothing may be typed now, "" for no reason.
func (c *Conversation) obstacle(ctx context.Context) (why, screen string, err error) {
	if c.isStarting() {
		return "it is starting", "", nil
	}
	running, err := c.provider.IsRunning(ctx, c.session)
	if err != nil {
		if ctx.Err() != nil {
			return "", "", err
		}
		return "it could not be asked: " + err.Error(), "", nil
	}
	if !running {
		return "it does not run", "", nil
	}
	if c.somebodyTypes(ctx) {
		return "somebody types in its terminal", "", nil
	}
	screen, err = c.peek(ctx, confirmLines)
	switch {
	case unsupported(err):
		return "", "", nil
	case err != nil && ctx.Err() != nil:
		return "", "", err
	case err != nil:
		return "its screen could not be read: " + err.Error(), "", nil
	case asks(screen) && (c.hints.CodingAgent || asksForKey(screen)):
		return dialogOpen, screen, nil
	}
	return "", screen, nil
}

// somebodyTypes reports whether a person typed in the terminal a moment ago.
func (c *Conversation) somebodyTypes(ctx context.Context) bool {
	a, ok := c.provider.(provider.Audience)
	if !ok {
		return false
	}
	n, typed, err := a.Attached(ctx, c.session)
	return err == nil && n > 0 && !typed.IsZero() && c.clock().Sub(typed) < c.timing.Quiet
}

const (
	// busyMoves is how long a coding agent that works leaves its screen as it
	// is: all of them show that they do.
	busyMoves = time.Second
	// notDrawn is how many times the patience is with a coding agent that shows
	// nothing yet: opencode does so for seconds, on a busy machine for a minute.
	notDrawn = 4
	// noneKnows is how long the screen of any program must stand still where
	// neither the provider nor a prompt tells that it takes input.
	noneKnows = 200 * time.Millisecond
)

func blank(screen string) bool { return strings.TrimSpace(screen) == "" }

// takesInput reports whether what is typed now is read: the prompt is there,
// or the provider knows that the program waits, or nothing moves on the screen
// of a coding agent of whose prompt nothing is known.
func (c *Conversation) takesInput(screen string, stands time.Duration, watch *ReadyWatch) bool {
	prompt := c.hints.ReadyPrompt
	switch {
	case prompt != "" && takesTyping(screen, prompt):
		return true
	case c.hints.CodingAgent && prompt == "" && !blank(screen) && stands >= busyMoves:
		return true
	case watch.blind() && prompt == "":
		return stands >= noneKnows // nobody can know, and nothing says when
	}
	return watch.Ready()
}

// untouched reports whether a message that was about to be typed when the
// process ended was certainly not: the agent takes input, and its screen is
// the one from before.
func (c *Conversation) untouched(ctx context.Context, m outbox.Message) bool {
	if running, err := c.provider.IsRunning(ctx, c.session); err != nil || !running || !c.Ready(ctx) {
		return false
	}
	screen, err := c.peek(ctx, confirmLines)
	return err == nil && m.Before != "" && hash(screen) == m.Before
}

// hash stands for a screen in a record.
func hash(screen string) string {
	sum := sha256.Sum256([]byte(screen))
	return hex.EncodeToString(sum[:])
}
