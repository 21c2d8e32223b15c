package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/fault"
	"den/internal/provider"
)

// Nudge keeps the text and types it when the agent can take it.
func (m *Managed) Nudge(ctx context.Context, text string) (Nudge, error) {
	n, err := m.nudges.Add(text)
	if err != nil {
		return n, fmt.Errorf("nudge agent '%s': %w", m.name, err)
	}
	n, err = m.nudges.deliver(ctx, m, n.ID)
	if err != nil && n.State == NudgeQueued {
		return n, fault.Hintf(fault.Errorf(fault.Timeout, "nudge agent '%s': %s stays queued (%s): %w", m.name, n.ID, n.Reason, err),
			"it is typed as soon as the agent takes input")
	}
	return n, err
}

// DeliverNudges types what is queued, now and later, until the context ends,
// and answers what the agent asks late. Its owner runs it in a goroutine of its
// own.
func (m *Managed) DeliverNudges(ctx context.Context) error {
	late := m.watchLate()
	defer late.stop()
	for {
		if _, err := m.nudges.deliver(ctx, m, ""); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.nudges.wake:
		case <-m.up:
			late.begin()
		case <-late.ticker.C:
			if err := late.look(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// deliver types what is queued, in order, until the nudge with the id has come
// to its end; all of it without an id. One caller at a time does.
func (q *Queue) deliver(ctx context.Context, m *Managed, id string) (Nudge, error) {
	mine := false
	// Another caller may be at it, and bring this one to its end meanwhile.
	err := poll(ctx, func() (bool, error) {
		if n, err := q.Get(id); err == nil && n.State.Final() {
			return true, nil
		}
		select {
		case q.delivering <- struct{}{}:
			mine = true
		default:
		}
		return mine, nil
	})
	if !mine {
		n, gerr := q.Get(id)
		if gerr != nil {
			return n, err
		}
		return n, outcome(n, err)
	}
	defer func() { <-q.delivering }()
	for {
		if id != "" {
			if n, err := q.Get(id); err != nil || n.State.Final() {
				return n, outcome(n, err)
			}
		}
		n := q.next()
		if n == nil {
			return Nudge{}, nil
		}
		if err := q.one(ctx, m, n); err != nil {
			if id == "" {
				return Nudge{}, err
			}
			got, gerr := q.Get(id)
			if gerr != nil {
				return got, gerr
			}
			return got, outcome(got, err)
		}
	}
}

// outcome is the error of a nudge that failed, else err.
func outcome(n Nudge, err error) error {
	if n.State == NudgeFailed {
		return fault.Errorf(fault.Usage, "nudge %s cannot be typed: %s", n.ID, n.Reason)
	}
	if n.State.Final() {
		return nil
	}
	return err
}

// one brings one nudge to its end, or returns the context's error.
func (q *Queue) one(ctx context.Context, m *Managed, n *Nudge) error {
	if q.copyOf(n).State == NudgeSending {
		if !m.untouched(ctx, q.copyOf(n)) {
			return q.finish(n, NudgeUnconfirmed, "the keeper ended while it was typed")
		}
		if err := q.update(n, func(n *Nudge) { n.State = NudgeQueued }); err != nil {
			return err
		}
	}
	for {
		before, err := q.clear(ctx, m, n)
		if err != nil {
			return err
		}
		err = q.update(n, func(n *Nudge) {
			n.State, n.Before, n.Reason = NudgeSending, hashWords(before), ""
			n.Attempts++
		})
		if err != nil {
			return err
		}
		again, err := q.send(ctx, m, n, before)
		if err != nil || !again {
			return err
		}
	}
}

// send types the nudge and looks whether it went in. From here on the caller's
// context does not matter: half a nudge helps nobody. again is true where it
// was certainly not sent.
func (q *Queue) send(ctx context.Context, m *Managed, n *Nudge, before string) (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second+q.timing.Confirm+q.timing.Patience)
	defer cancel()
	text := q.copyOf(n).Text
	life := m.life(ctx)
	err = m.provider.Nudge(ctx, m.session, text)
	switch fault.KindOf(err) {
	case fault.Usage, fault.Unsupported:
		return false, q.finish(n, NudgeFailed, err.Error())
	case fault.NotFound, fault.NotRunning, fault.Busy:
		// Nothing was typed, or what it was typed at is gone.
		return true, q.update(n, func(n *Nudge) { n.State, n.Reason = NudgeQueued, err.Error() })
	}
	state, reason := m.confirm(ctx, text, before, q.timing)
	if state == NudgeDelivered && m.life(ctx) != life {
		state, reason = NudgeUnconfirmed, "the agent ended while it was typed" // what was seen is another one's screen
	}
	if err != nil && state == NudgeUnconfirmed {
		reason = err.Error()
	}
	return false, q.finish(n, state, reason)
}

func (q *Queue) finish(n *Nudge, state NudgeState, reason string) error {
	err := q.update(n, func(n *Nudge) { n.State, n.Reason = state, reason })
	if err == nil && q.onEnd != nil {
		q.onEnd(q.copyOf(n))
	}
	return err
}

// clear waits until the agent runs, nobody types, no dialog is open and it
// takes input, and returns the screen as it is then. An agent that stays busy
// is not waited for longer than Patience: those worth nudging keep what is
// typed meanwhile.
func (q *Queue) clear(ctx context.Context, m *Managed, n *Nudge) (string, error) {
	watch := m.watchReady(ctx)
	defer watch.stop()
	began := time.Now()
	var screen string
	var still stillness
	lastWhy := ""
	leftAlone := ""
	err := pollEvery(ctx, 250*time.Millisecond, func() (bool, error) {
		why, now, err := m.hindrance(ctx, q.timing.Quiet)
		if err != nil {
			return false, err
		}
		if why != lastWhy {
			watch.again() // what was ready before says nothing about now
		}
		lastWhy = why
		if s := recognise(now); s != nil && m.config.mayAsk() && why == dialogOpen && now != leftAlone {
			// A question of its start that came late.
			leftAlone = now
			if err := m.answerAlone(ctx, s); err != nil && fault.KindOf(err) != fault.Waiting {
				return false, err
			}
		}
		stands := still.since(now)
		patience := q.timing.Patience
		if m.config.mayAsk() && blank(now) {
			patience *= notDrawn
		}
		if why == "" && !m.takesInput(now, stands, watch) && time.Since(began) < patience {
			why = "it is busy"
		}
		q.because(n, why)
		screen = now
		return why == "", nil
	})
	return screen, err
}

const dialogOpen = "a dialog is open"

// answerAlone answers a dialog unless somebody is there to do it.
func (m *Managed) answerAlone(ctx context.Context, s *sighting) error {
	if a, ok := m.provider.(provider.Audience); ok {
		if n, _, err := a.Attached(ctx, m.session); err != nil || n > 0 {
			return err
		}
	}
	return m.answer(ctx, s)
}

// hindrance says why nothing may be typed now, "" for no reason.
func (m *Managed) hindrance(ctx context.Context, quiet time.Duration) (why, screen string, err error) {
	if m.isComingUp() {
		return "it is starting", "", nil
	}
	running, err := m.provider.IsRunning(ctx, m.session)
	if err != nil {
		if ctx.Err() != nil {
			return "", "", err
		}
		return "it could not be asked: " + err.Error(), "", nil
	}
	if !running {
		return "it does not run", "", nil
	}
	if a, ok := m.provider.(provider.Audience); ok {
		n, typed, err := a.Attached(ctx, m.session)
		if err == nil && n > 0 && !typed.IsZero() && m.clock().Sub(typed) < quiet {
			return "somebody types in its terminal", "", nil
		}
	}
	screen, err = m.provider.Peek(ctx, m.session, confirmLines)
	switch {
	case unsupported(err):
		return "", "", nil
	case err != nil && ctx.Err() != nil:
		return "", "", err
	case err != nil:
		return "its screen could not be read: " + err.Error(), "", nil
	case asks(screen) && (m.config.mayAsk() || asksForKey(screen)):
		return dialogOpen, screen, nil
	}
	return "", screen, nil
}

// busyMoves is how long a coding agent that works leaves its screen as it is:
// all of them show that they do.
const busyMoves = time.Second

// notDrawn is how many times the patience is with a coding agent that shows
// nothing yet: opencode does so for seconds, on a busy machine for a minute.
const notDrawn = 4

func blank(screen string) bool { return strings.TrimSpace(screen) == "" }

// noneKnows is how long the screen of any program must stand still where
// neither the provider nor a prompt tells that it takes input.
const noneKnows = 200 * time.Millisecond

// takesInput reports whether what is typed now is read: the prompt is there,
// or the provider knows that the program waits, or nothing moves on the screen
// of a coding agent of whose prompt nothing is known.
func (m *Managed) takesInput(screen string, stands time.Duration, watch *readyWatch) bool {
	if p := m.config.Hints.ReadyPromptPrefix; p != "" && takesTyping(screen, p) {
		return true
	}
	if m.config.mayAsk() && m.config.Hints.ReadyPromptPrefix == "" && !blank(screen) && stands >= busyMoves {
		return true
	}
	if watch.blind() && m.config.Hints.ReadyPromptPrefix == "" {
		return stands >= noneKnows // nobody can know, and nothing says when
	}
	return watch.ready()
}

// untouched reports whether a nudge that was about to be typed when the
// process ended was certainly not: the agent takes input, and its screen is
// the one from before.
func (m *Managed) untouched(ctx context.Context, n Nudge) bool {
	if running, err := m.provider.IsRunning(ctx, m.session); err != nil || !running || !m.Ready(ctx) {
		return false
	}
	screen, err := m.provider.Peek(ctx, m.session, confirmLines)
	return err == nil && n.Before != "" && hashWords(screen) == n.Before
}

// PendingNudges counts the nudges that wait.
func (m *Managed) PendingNudges() int { return m.nudges.Pending() }
