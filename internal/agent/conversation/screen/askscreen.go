package screen

import (
	"context"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

const (
	// replyLines is how far up a reply may begin.
	replyLines = 5000
	// The times that a reply must stand on the screen before it is believed:
	// of an agent that is ready again, of one that was not seen working, and of
	// a program of which nobody knows whether it waits.
	readyStands   = time.Second
	startStands   = 4 * time.Second
	unknownStands = 3 * time.Second
)

// shownReply is what stood on the screen, and since when.
type shownReply struct {
	text  string
	found bool
	since time.Time // zero before the first look
}

// onScreen reads the reply off the screen: what stands between the message and
// the place where the agent takes input, once that has stood for a while.
func (a *ask) onScreen(ctx context.Context) (bool, error) {
	if later := a.talk.queue.HandedAfter(a.message); later != "" {
		return false, fault.Errorf(fault.Unsure, "message %s was handed over behind it: the screen does not tell their replies apart", later)
	}
	text, tied, found, err := a.talk.replyShown(ctx, a.message.ID, a.message.Text)
	if err != nil {
		return false, err
	}
	if s := &a.shown; s.since.IsZero() || s.text != text || s.found != found {
		*s = shownReply{text: text, found: found, since: time.Now()}
	}
	if time.Since(a.shown.since) < a.mustStand() {
		return false, nil
	}
	if !found {
		return false, fault.Hintf(fault.Errorf(fault.Unsure, "its screen does not show where the reply begins"), "read it with 'den agent peek %s'", a.talk.agent)
	}
	r := conversation.Reply{Text: text, Source: screenSource, Certainty: conversation.Likely}
	if !tied || a.state.Activity == conversation.Unknown || text == "" && a.talk.hints.CodingAgent {
		r.Certainty = conversation.Unsure
	}
	return a.done(r), nil
}

// mustStand is how long what is on the screen must stand. What the kernel says
// of a program needs no second look, but an echo may come late.
func (a *ask) mustStand() time.Duration {
	s := a.state
	switch {
	case a.shown.text == "" && a.talk.hints.CodingAgent && !a.repeated:
		return withoutWork
	case s.Activity == conversation.Unknown:
		return unknownStands
	case s.Source == "kernel" && a.shown.found:
		return 0
	case a.worked || a.repeated || s.Source == "kernel":
		return readyStands
	}
	return startStands
}

// replyShown reads the screen. tied is false where the message is found by its
// text alone.
func (c *Conversation) replyShown(ctx context.Context, id, text string) (reply string, tied, found bool, err error) {
	screen, err := c.peek(ctx, replyLines)
	if err != nil {
		return "", false, false, err
	}
	if c.hints.CodingAgent {
		reply, found = c.profile.replyOn(screen, c.hints.ReadyPrompt, text)
		return reply, true, found, nil
	}
	lines := strings.Split(screen, "\n")
	if in, err := c.input(ctx); err == nil { // Best effort: without it the prompt is a part of the reply.
		lines = withoutLine(lines, in.CursorRow)
	}
	old, known := c.linesBefore(id)
	reply, tied, found = plainReply(lines, old, known, text)
	return reply, tied, found, nil
}

// screenBefore is what stood above the line that a message was typed at.
type screenBefore struct {
	id    string
	lines []string
}

// noteBefore remembers the screen that a message is typed at. A coding agent
// redraws its own, so that it says nothing.
func (c *Conversation) noteBefore(ctx context.Context, id, screen string) {
	if c.hints.CodingAgent {
		return
	}
	lines := strings.Split(screen, "\n")
	in, err := c.input(ctx)
	if err == nil && screen != "" {
		lines = withoutLine(lines, in.CursorRow)
	} else {
		lines = lines[:len(lines)-1] // Best effort: mostly it is the line with the prompt.
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = screenBefore{id: id, lines: lines}
}

// linesBefore returns what was noted for a message.
func (c *Conversation) linesBefore(id string) (lines []string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before.lines, c.before.id == id
}
