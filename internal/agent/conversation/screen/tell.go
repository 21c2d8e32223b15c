package screen

import (
	"context"
	"errors"
	"time"

	"den/internal/agent/conversation"
)

const (
	// wholePatience is how long a question that its source tells in part may
	// take to be on the screen.
	wholePatience = 3 * time.Second
	// lookPause is how often a question is looked at that must stand first.
	lookPause = 100 * time.Millisecond
)

// stateTeller tells of changes of an agent's state, each once.
type stateTeller struct {
	talk *Conversation
	late *lateReceipts
	told seen

	next  seen      // is told when it has stood
	since time.Time // when that was first seen; zero for none
}

// waits reports whether a state is to be looked at again soon.
func (t *stateTeller) waits() bool { return !t.since.IsZero() }

// again receives when that is; never where there is none.
func (t *stateTeller) again() <-chan time.Time {
	if !t.waits() {
		return nil
	}
	return time.After(lookPause)
}

// look reads the state and tells of it if it is another one. Whoever asks for
// the last state has it at once.
func (t *stateTeller) look(ctx context.Context) error {
	now, err := t.talk.look(ctx)
	if err != nil || ctx.Err() != nil {
		return nil // nobody could be asked: the next look may tell
	}
	if t.told.same(now) {
		t.since = time.Time{}
		t.keep(&now, t.told.Since)
		t.told = now
		return nil
	}
	if !t.waits() || !t.next.same(now) || t.next.whole() != now.whole() {
		t.since = time.Now()
		t.next = seen{}
	}
	t.keep(&now, t.next.Since)
	t.next = now
	if time.Since(t.since) < t.mustStand(now) {
		return nil
	}
	t.since = time.Time{}
	err = errors.Join(t.late.checkSource(ctx), t.talk.stateChanged(t.told, now))
	t.told = now
	if now.Activity == conversation.Ready && !t.talk.hints.CodingAgent && !t.talk.knowsPrompt() {
		t.talk.LearnLine(ctx)
	}
	return err
}

// keep keeps a state that began at a time, if it does not say when itself.
func (t *stateTeller) keep(now *seen, since time.Time) {
	if now.Since.IsZero() {
		now.Since = since
	}
	if now.Since.IsZero() {
		now.Since = t.talk.clock()
	}
	t.talk.keepState(now.State)
}

// mustStand is how long a state must be seen before it is told. A screen may
// be half drawn, and a question is told when it is known whole.
func (t *stateTeller) mustStand(s seen) time.Duration {
	switch {
	case s.Activity != conversation.Asking:
		return 0
	case !s.whole():
		return wholePatience
	case s.partial || s.Source == screenSource:
		return t.talk.profile.pauses.DialogStands.Duration
	}
	return 0
}
