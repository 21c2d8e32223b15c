package screen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
)

// messageLines is how far up a message is looked for: the answer may be long.
const messageLines = 200

const (
	// notDrawn is how many times the patience is with a coding agent that shows
	// nothing yet: opencode does so for seconds, on a busy machine for a minute.
	notDrawn = 4
	// noneKnows is how long the screen of any program must stand still where
	// neither the provider nor a prompt tells that it takes input.
	noneKnows = 200 * time.Millisecond
)

const dialogOpen = "a dialog is open"

// awaitClear waits until the agent runs, nobody types, no dialog is open, its
// line is empty and it takes input, and returns the screen as it is then. An
// agent that stays busy is not waited for longer than Patience: those worth a
// message keep what is typed meanwhile. A text that the terminal cannot carry
// is fault.Usage.
func (c *Conversation) awaitClear(ctx context.Context, m outbox.Message) (string, error) {
	watch := c.WatchReady(ctx)
	defer watch.Stop()
	began := time.Now()
	var screen string
	var still stillness
	lastWhy, leftAlone := "", ""
	err := poll.Every(ctx, 250*time.Millisecond, func() (bool, error) {
		why, now, err := c.obstacle(ctx, "")
		if err != nil {
			return false, err
		}
		if why != lastWhy {
			watch.again() // what was ready before says nothing about now
		}
		lastWhy = why
		if d := c.profile.detectDialog(now); d != nil && c.hints.CodingAgent && why == dialogOpen && now != leftAlone {
			// A question of its start that came late.
			leftAlone = now
			err := c.whileTyping(ctx, func() error { return c.answerAlone(ctx, d) })
			if err != nil && fault.KindOf(err) != fault.Waiting {
				return false, err
			}
		}
		takes := c.takesInput(now, still.since(now), watch)
		if why == "" && !takes && time.Since(began) < c.patience(now) {
			why = "it is busy"
		}
		if why == "" {
			if why, err = c.lineObstacle(ctx, now, m.Text, takes); err != nil {
				return false, err
			}
		}
		c.queue.SetReason(m.ID, why)
		screen = now
		return why == "", nil
	})
	return screen, err
}

// patience is how long an agent may be busy.
func (c *Conversation) patience(screen string) time.Duration {
	if c.hints.CodingAgent && blank(screen) {
		return notDrawn * c.timing.Patience
	}
	return c.timing.Patience
}

// obstacle says why nothing may be typed now, "" for no reason. typed is what
// den may have typed before, or "".
func (c *Conversation) obstacle(ctx context.Context, typed string) (why, screen string, err error) {
	if c.IsStarting(ctx) {
		return isStartingNow, "", nil
	}
	return c.sessionObstacle(ctx, typed)
}

// sessionObstacle is obstacle but for a start that is under way.
func (c *Conversation) sessionObstacle(ctx context.Context, typed string) (why, screen string, err error) {
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
	screen, err = c.peek(ctx, messageLines)
	switch {
	case unsupported(err):
		return "", "", nil
	case err != nil && ctx.Err() != nil:
		return "", "", err
	case err != nil:
		return "its screen could not be read: " + err.Error(), "", nil
	case c.isAsking(ctx, screen, typed):
		return dialogOpen, screen, nil
	}
	return "", screen, nil
}

// isAsking reports whether a question is open: by the word of the source, and
// by the screen, which alone knows the dialogs of a start. typed is what den
// has typed into the composer, or "".
func (c *Conversation) isAsking(ctx context.Context, screen, typed string) bool {
	return c.sourceAsks(ctx) || c.screenAsks(screen, typed)
}

// sourceAsks reports whether a question is open by the word of the source.
func (c *Conversation) sourceAsks(ctx context.Context) bool {
	s, ok := c.sourceState(ctx)
	return ok && s.Activity == conversation.Asking
}

// screenAsks is isAsking by the screen alone.
func (c *Conversation) screenAsks(screen, typed string) bool {
	return c.profile.asksBeside(screen, c.hints.ReadyPrompt, typed) && (c.hints.CodingAgent || c.profile.asksForKey(screen))
}

// somebodyTypes reports whether a person typed in the terminal a moment ago.
func (c *Conversation) somebodyTypes(ctx context.Context) bool {
	if c.terminal == nil {
		return false
	}
	n, typed, err := c.terminal.Attached(ctx, c.session)
	return err == nil && n > 0 && !typed.IsZero() && c.clock().Sub(typed) < c.timing.Quiet
}

// draft returns what somebody left in the composer of a coding agent, "" for
// nothing. A program writes hints of its own there: those that are known, those
// that it showed when nobody had typed yet, and what stands right of the cursor
// where the line begins.
func (c *Conversation) draft(ctx context.Context, screen string) string {
	at := c.profile.findComposer(screen, c.hints.ReadyPrompt)
	if at == nil || c.profile.empty(at) || c.isHint(at.text) {
		return ""
	}
	in, err := c.input(ctx)
	glyph := strings.TrimSpace(c.hints.ReadyPrompt)
	if err == nil && glyph != "" && newRow(in.CursorRow).text == glyph {
		return ""
	}
	return at.text
}

// draftObstacle says what stands in the composer of a coding agent, "" for
// nothing.
func (c *Conversation) draftObstacle(ctx context.Context, screen string) string {
	if draft := c.draft(ctx, screen); draft != "" {
		return fmt.Sprintf("its composer holds text that was not sent: %.40q", draft)
	}
	return ""
}

// sendsBySource reports whether messages go in without being typed, as far as
// that is known before one is sent.
func (c *Conversation) sendsBySource() bool {
	_, ok := c.source.(conversation.Sender)
	return ok && !c.mustType.Load()
}

// lineObstacle says why the agent's line cannot take the text now. Where it
// never can, that is fault.Usage.
func (c *Conversation) lineObstacle(ctx context.Context, screen, text string, takesInput bool) (string, error) {
	if c.sendsBySource() {
		return "", nil
	}
	if c.hasComposer() {
		return c.draftObstacle(ctx, screen), nil
	}
	in, err := c.input(ctx)
	switch {
	case unsupported(err):
		return "", nil // nobody knows: the program decides
	case err != nil && ctx.Err() != nil:
		return "", err
	case err != nil: // somebody's text may stand there
		return "its input could not be asked about: " + err.Error(), nil
	}
	if n := longestLine(text); in.LineMode && n > provider.MaxLine {
		if !takesInput {
			return fmt.Sprintf("it is busy, and its terminal takes lines of at most %d bytes meanwhile", provider.MaxLine), nil
		}
		return "", fault.Errorf(fault.Usage, "a line of it has %d bytes, and the program reads its terminal in lines of at most %d: the rest would be cut off", n, provider.MaxLine)
	}
	return c.leftInLine(ctx, in), nil
}

// leftInLine says what stands in the line of a plain program, "" for nothing.
func (c *Conversation) leftInLine(ctx context.Context, in provider.Input) string {
	switch left := c.unfinished(ctx, in); {
	case left != "":
		return fmt.Sprintf("its input line holds text that was not sent: %.40q", left)
	case in.Unsure:
		return "its input line may hold text that was not sent: keys were pressed there whose effect is not known"
	}
	return ""
}

func longestLine(text string) int {
	longest := 0
	for line := range strings.SplitSeq(text, "\n") {
		longest = max(longest, len(line))
	}
	return longest
}

// unfinished returns what was typed into a plain program's line and not sent.
// Where the provider does not follow input, it is what stands behind a prompt.
func (c *Conversation) unfinished(ctx context.Context, in provider.Input) string {
	if in.UnfinishedKnown {
		return in.Unfinished
	}
	c.recallPrompt(ctx) // the start may have been another configuration's
	left, ok := c.behindPrompt(in.CursorRow)
	switch {
	case ok:
		return left + rightOfCursor(in)
	case strings.Contains(in.CursorRow, "i-search"): // line editors show a search in place of the prompt
		return in.CursorRow
	}
	return ""
}

// rightOfCursor returns what stands right of the cursor in its line. Far to the
// right stands a part of the prompt.
func rightOfCursor(in provider.Input) string {
	if strings.HasPrefix(in.CursorRest, "  ") {
		return ""
	}
	return in.CursorRest
}

func (c *Conversation) input(ctx context.Context) (provider.Input, error) {
	return c.provider.Input(ctx, c.session)
}

func blank(screen string) bool { return strings.TrimSpace(screen) == "" }

// takesInput reports whether what is typed now is read: the prompt is there,
// or the provider knows that the program waits, or nothing moves on the screen
// of a coding agent of whose prompt nothing is known.
func (c *Conversation) takesInput(screen string, stands time.Duration, watch *ReadyWatch) bool {
	prompt := c.hints.ReadyPrompt
	switch {
	case prompt != "" && c.profile.takesTyping(screen, prompt):
		return true
	case c.hints.CodingAgent && prompt == "" && !blank(screen) && stands >= c.profile.pauses.BusyMoves.Duration:
		return true
	case watch.blind() && prompt == "":
		return stands >= noneKnows // nobody can know, and nothing says when
	}
	return watch.Ready()
}
