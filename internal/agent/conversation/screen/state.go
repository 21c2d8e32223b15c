package screen

import (
	"context"
	"errors"
	"strings"
	"time"

	"den/internal/agent/conversation"
)

// screenSource is the source of what a screen tells.
const screenSource = "screen"

// askLimit bounds how long a program is asked whether it waits for input.
const askLimit = 200 * time.Millisecond

// State returns what the agent does: by its source where it has one that
// knows, else by its screen, else by the kernel.
func (c *Conversation) State(ctx context.Context) (conversation.State, error) {
	s, err := c.look(ctx)
	return s.State, err
}

// look is State with what its question is known by.
func (c *Conversation) look(ctx context.Context) (seen, error) {
	running, err := c.provider.IsRunning(ctx, c.session)
	switch {
	case err != nil:
		return seen{State: conversation.State{Activity: conversation.Unknown, Why: err.Error()}}, err
	case !running:
		return seen{State: conversation.State{Activity: conversation.Gone}}, nil
	case c.IsStarting(ctx):
		return seen{State: conversation.State{Activity: conversation.Starting}}, nil
	}
	told, ok := c.sourceState(ctx)
	if ok {
		return c.completed(ctx, told), nil
	}
	var s conversation.State
	if c.hints.CodingAgent {
		s, err = c.screenState(ctx)
	} else {
		s = c.kernelState(ctx)
	}
	s.Fallback = told.Fallback
	now := seen{State: s}
	if s.Question != nil {
		now.shown = s.Question.ID
	}
	return now, err
}

// sourceState asks the source. ok is false where there is none, or it does not
// know: then the state only says why.
func (c *Conversation) sourceState(ctx context.Context) (s conversation.State, ok bool) {
	if c.source == nil {
		return s, false
	}
	s, err := c.source.State(ctx)
	switch {
	case err != nil:
		return conversation.State{Fallback: c.source.Name() + ": " + err.Error()}, false
	case s.Activity == conversation.Unknown || s.Activity == "":
		return conversation.State{Fallback: c.source.Name() + ": " + s.Why}, false
	}
	if s.Source == "" {
		s.Source = c.source.Name()
	}
	return s, true
}

// screenState reads the screen of a coding agent.
func (c *Conversation) screenState(ctx context.Context) (conversation.State, error) {
	screen, err := c.peek(ctx, peekLines)
	if err != nil {
		return conversation.State{Activity: conversation.Unknown, Why: err.Error()}, err
	}
	s := c.profile.stateOf(screen, c.hints.ReadyPrompt)
	s.Source = screenSource
	if s.Activity == conversation.Ready {
		// Some show nothing of their work but its output.
		at, err := c.provider.GetLastActivity(ctx, c.session)
		if err == nil && c.clock().Sub(at) < c.profile.pauses.BusyMoves.Duration {
			s.Activity, s.Why = conversation.Busy, "it writes to its screen"
		}
	}
	return s, nil
}

// turnRows is how many rows at the end of a screen tell of the current turn.
const turnRows = 12

// stateOf is what one screen tells.
func (p *profile) stateOf(screen, prompt string) conversation.State {
	if q := p.question(screen); q != nil {
		return conversation.State{Activity: conversation.Asking, Question: q}
	}
	rows := rowsOf(screen)
	end := rows[max(0, len(rows)-turnRows):]
	text := textOf(end)
	for _, words := range p.busy {
		if strings.Contains(text, words) {
			return conversation.State{Activity: conversation.Busy, Why: words}
		}
	}
	at := p.findComposer(screen, prompt)
	if at == nil {
		return conversation.State{Activity: conversation.Unknown, Why: "its screen shows no place to type"}
	}
	if marked(p.notReading, text) {
		return conversation.State{Activity: conversation.Starting}
	}
	if why := p.failure(rows, at, prompt); why != "" {
		return conversation.State{Activity: conversation.TurnFailed, Why: why}
	}
	return conversation.State{Activity: conversation.Ready}
}

// failure is the error that the last turn ended in, "" for none: it stands among
// the last rows above the composer, and below what the user said.
func (p *profile) failure(rows []row, at *composer, prompt string) string {
	end := len(rows)
	if at.row >= 0 {
		end = at.row
	}
	for i, left := end-1, turnRows; i >= 0 && left > 0; i-- {
		if rows[i].blank() {
			continue
		}
		if _, ok := p.cutPrompt(rows[i], prompt); ok {
			return ""
		}
		if p.failures != nil && p.failures.MatchString(strings.TrimLeft(rows[i].text, "●⎿ ")) {
			return paragraph(rows[i:end])
		}
		left--
	}
	return ""
}

// paragraph is the text of a row and of those below that go on with it.
func paragraph(rows []row) string {
	text := strings.TrimLeft(rows[0].text, "●⎿■✕✗ ")
	for _, r := range rows[1:] {
		if r.blank() || r.indent <= rows[0].indent {
			break
		}
		text += " " + r.text
	}
	return text
}

// kernelState asks whether a plain program waits for input.
func (c *Conversation) kernelState(ctx context.Context) conversation.State {
	if c.terminal == nil {
		return conversation.State{Activity: conversation.Unknown, Why: "nobody can tell here what the program waits for"}
	}
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	switch err := c.terminal.AwaitReady(limited, c.session); {
	case err == nil:
		return conversation.State{Activity: conversation.Ready, Source: "kernel"}
	case errors.Is(err, context.DeadlineExceeded) || limited.Err() != nil:
		return conversation.State{Activity: conversation.Busy, Source: "kernel"}
	default:
		return conversation.State{Activity: conversation.Unknown, Why: err.Error()}
	}
}

// Asks reports whether the agent waits for somebody's decision.
func (c *Conversation) Asks(ctx context.Context) (bool, error) {
	if !c.hints.CodingAgent {
		return false, nil
	}
	screen, err := c.peek(ctx, peekLines)
	return err == nil && c.isAsking(ctx, screen, ""), err
}

// Ready reports whether the agent waits for input now; false where that cannot
// be known.
func (c *Conversation) Ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if s, ok := c.sourceState(ctx); ok {
		return s.Activity.TakesMessage()
	}
	if prefix := c.hints.ReadyPrompt; prefix != "" {
		screen, err := c.peek(ctx, peekLines)
		return err == nil && c.profile.takesTyping(screen, prefix)
	}
	return c.terminal != nil && c.terminal.AwaitReady(ctx, c.session) == nil
}
