package screen

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/conversation"
	"den/internal/fault"
	"den/internal/poll"
)

// question returns what the end of a screen asks, or nil.
func (p *profile) question(screen string) *conversation.Question {
	rows := rowsOf(screen)
	top, labels := p.options(rows)
	alone := p.wordsAlone(rows)
	if labels == nil && alone == nil {
		return nil
	}
	if labels == nil {
		top = len(rows)
	}
	q := &conversation.Question{Text: questionAbove(rows[:top]), Kind: conversation.Choice}
	for i, label := range labels {
		q.Options = append(q.Options, conversation.Option{ID: strconv.Itoa(i + 1), Label: label})
	}
	above := textOf(rows[max(0, top-aboveMenu):top])
	for _, words := range p.questions {
		if marked(words.Marks, above) {
			q.Kind = words.Kind
			break
		}
	}
	if p.detectDialog(screen) != nil {
		q.Kind = conversation.Dialog
	}
	q.ID = hash(q.Text + "\n" + above + "\n" + strings.Join(labels, "\n"))[:12]
	return q
}

// ScreenQuestion returns what the agent's screen asks, or nil. Some sources
// tell that an agent asks, but not what.
func (c *Conversation) ScreenQuestion(ctx context.Context) (*conversation.Question, error) {
	screen, err := c.peek(ctx, peekLines)
	if err != nil {
		return nil, err
	}
	return c.profile.question(screen), nil
}

// options returns the labels of the menu at the end of a screen and the row
// where it begins.
func (p *profile) options(rows []row) (top int, labels []string) {
	if m := p.findMenu(rows); m != nil {
		return m.top, m.options
	}
	at := p.flatMenu(rows)
	if at < 0 {
		return len(rows), nil
	}
	for field := range strings.SplitSeq(rows[at].text, "   ") {
		// What follows the options tells of keys.
		if field = strings.TrimSpace(field); field != "" && !strings.Contains(field, "⇆") && !strings.Contains(field, "ctrl+") {
			labels = append(labels, field)
		}
	}
	return at, labels
}

// questionAbove is the sentence right above a menu: the nearest that asks, else
// the nearest.
func questionAbove(rows []row) string {
	nearest := ""
	for i := len(rows) - 1; i >= 0 && i >= len(rows)-aboveMenu; i-- {
		text := rows[i].text
		if strings.HasSuffix(text, "?") || strings.HasPrefix(text, "△") {
			return strings.TrimSpace(strings.TrimPrefix(text, "△"))
		}
		if nearest == "" {
			nearest = text
		}
	}
	return nearest
}

// Answer decides the open question: through the source where that can, else by
// moving the cursor of the menu on the screen and pressing Enter there.
func (c *Conversation) Answer(ctx context.Context, question, option string) error {
	if a, ok := c.source.(conversation.Answerer); ok {
		if err := a.Answer(ctx, question, option); fault.KindOf(err) != fault.Unsupported {
			return err
		}
	}
	if err := poll.Until(ctx, func() (bool, error) { return c.queue.TryClaim(), nil }); err != nil {
		return err
	}
	defer c.queue.Release() // nobody types meanwhile
	m, target, err := c.openMenu(ctx, question, option)
	if err != nil {
		return err
	}
	key, steps := "Down", target-m.chosen
	if steps < 0 {
		key, steps = "Up", -steps
	}
	for range steps {
		if err := c.provider.SendKeys(ctx, c.session, key); err != nil {
			return fmt.Errorf("answer agent '%s': %w", c.agent, err)
		}
	}
	if err := c.awaitCursor(ctx, question, option, target); err != nil {
		return err
	}
	return c.provider.SendKeys(ctx, c.session, "Enter")
}

// openMenu returns the menu of an open question and the row of an option.
func (c *Conversation) openMenu(ctx context.Context, question, option string) (*menu, int, error) {
	screen, err := c.peek(ctx, peekLines)
	if err != nil {
		return nil, 0, err
	}
	q := c.profile.question(screen)
	if q == nil || q.ID != question {
		return nil, 0, fault.Errorf(fault.NotFound, "agent '%s' does not ask '%s' any more", c.agent, question)
	}
	target := slices.IndexFunc(q.Options, func(o conversation.Option) bool { return o.ID == option })
	m := c.profile.findMenu(rowsOf(screen))
	switch {
	case m == nil:
		return nil, 0, fault.Hintf(fault.Errorf(fault.Unsupported, "the question of agent '%s' is not drawn in a way that den can answer", c.agent),
			"answer it yourself: den agent attach %s", c.agent)
	case target < 0:
		return nil, 0, fault.Errorf(fault.Usage, "the question of agent '%s' has no option '%s'", c.agent, option)
	}
	return m, target, nil
}

// awaitCursor waits until the cursor stands on an option of the question.
func (c *Conversation) awaitCursor(ctx context.Context, question, option string, target int) error {
	limited, cancel := context.WithTimeout(ctx, c.profile.pauses.DialogPatience)
	defer cancel()
	var since time.Time
	err := poll.Until(limited, func() (bool, error) {
		m, _, err := c.openMenu(ctx, question, option)
		if err != nil {
			return false, err
		}
		if m.chosen != target {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) >= c.profile.pauses.CursorStands, nil
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fault.Errorf(fault.Waiting, "the cursor was not seen on option '%s': Enter was not pressed", option)
	}
	return err
}
