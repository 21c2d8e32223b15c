package screen

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/base/poll"
)

// question returns what the end of a screen asks, or nil.
func (p *profile) question(screen string) *conversation.Question {
	rows := rowsOf(screen)
	top, labels := p.options(rows)
	if labels == nil {
		if p.wordsAlone(rows) == nil {
			return nil
		}
		top = len(rows)
	}
	asked := p.asked(rows, top)
	text := p.lasting(textsOf(asked))
	q := &conversation.Question{ID: questionID(text, p.lasting(labels)), Text: shortened(strings.Join(text, "\n")), Kind: p.kindOf(screen, textOf(asked))}
	for i, label := range labels {
		q.Options = append(q.Options, conversation.Option{ID: strconv.Itoa(i + 1), Label: columns.Get().ReplaceAllString(label, " · ")})
	}
	return q
}

// columns are the space between an option and what is told of it.
var columns = lazy.Regexp{Expr: ` {2,}`}

// questionID stands for what is asked: it is another one for another text or
// other options. Where lines are broken does not count.
func questionID(text, labels []string) string {
	return hash(squeeze(strings.Join(text, "")) + "\n" + squeeze(strings.Join(labels, "")))[:12]
}

// kindOf is the kind of a question on a screen, by its words.
func (p *profile) kindOf(screen, asked string) conversation.QuestionKind {
	if p.detectDialog(screen) != nil {
		return conversation.Dialog
	}
	if words := p.questionWords(asked); words != nil {
		return words.Kind
	}
	return conversation.Choice
}

// questionWords finds the words that a question has, nil for none that are
// known.
func (p *profile) questionWords(asked string) *questionWords {
	for i := range p.questions {
		if marked(p.questions[i].Marks, asked) {
			return &p.questions[i]
		}
	}
	return nil
}

// maxQuestion bounds the text of a question, in runes. Plans and edits are
// longer: their beginning tells what it is about, and their end asks.
const maxQuestion = 4000

func shortened(text string) string {
	runes := []rune(text)
	if len(runes) <= maxQuestion {
		return text
	}
	return string(runes[:maxQuestion*3/4]) + "\n[…]\n" + string(runes[len(runes)-maxQuestion/4:])
}

// options returns the labels of the menu at the end of a screen and the row
// where it begins.
func (p *profile) options(rows []row) (top int, labels []string) {
	if m := p.findMenu(rows); m != nil {
		return m.top, m.whole
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

// Answer decides the open question: through the source where that asks it, else
// by moving the cursor of the menu on the screen and pressing Enter there.
func (c *Conversation) Answer(ctx context.Context, question, option, _ string) error {
	s, err := c.look(ctx)
	if err != nil {
		return err
	}
	if s.Question == nil || s.Question.ID != question {
		return c.notAsked(question)
	}
	if a, ok := c.source.(conversation.Answerer); ok && s.told != "" && !s.partial {
		return a.Answer(ctx, question, option)
	}
	return c.whileTyping(ctx, func() error { return c.chooseOption(ctx, question, option) })
}

// whileTyping does something while nobody else types. fault.Busy means that
// somebody did until the context ended.
func (c *Conversation) whileTyping(ctx context.Context, do func() error) error {
	if err := poll.Until(ctx, func() (bool, error) { return c.queue.TryType(), nil }); err != nil {
		return fault.Errorf(fault.Busy, "wait until nobody types at agent '%s': %w", c.agent, err)
	}
	defer c.queue.StopTyping()
	return do()
}

// chooseOption decides a question on the screen, if it is the one that is open.
func (c *Conversation) chooseOption(ctx context.Context, question, option string) error {
	s, err := c.look(ctx)
	if err != nil {
		return err
	}
	if s.Question == nil || s.Question.ID != question {
		return c.notAsked(question)
	}
	m, target, err := c.openMenu(ctx, s, option)
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
	if err := c.awaitCursor(ctx, s, option, target); err != nil {
		return err
	}
	pressed, err := c.sendSeen(ctx, enter, func(screen string) bool {
		m, target, err := c.menuOn(screen, s, option)
		return err == nil && m.chosen == target
	})
	if err == nil && !pressed {
		err = fault.Errorf(fault.Waiting, "the cursor left option '%s': Enter was not pressed", option)
	}
	return err
}

func (c *Conversation) notAsked(question string) error {
	return fault.Errorf(fault.NotFound, "agent '%s' does not ask '%s' any more", c.agent, question)
}

// openMenu returns the menu of a question that was seen, if the screen still
// shows that one, and the row of an option.
func (c *Conversation) openMenu(ctx context.Context, s seen, option string) (*menu, int, error) {
	screen, err := c.peek(ctx, peekLines)
	if err != nil {
		return nil, 0, err
	}
	return c.menuOn(screen, s, option)
}

// menuOn is openMenu for a screen.
func (c *Conversation) menuOn(screen string, s seen, option string) (*menu, int, error) {
	q := c.profile.question(screen)
	if q == nil || q.ID != s.shown {
		return nil, 0, c.notAsked(s.Question.ID)
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
func (c *Conversation) awaitCursor(ctx context.Context, s seen, option string, target int) error {
	limited, cancel := context.WithTimeout(ctx, c.profile.pauses.DialogPatience.Duration)
	defer cancel()
	var since time.Time
	err := poll.Until(limited, func() (bool, error) {
		m, _, err := c.openMenu(ctx, s, option)
		if err != nil {
			return false, err
		}
		if m.chosen != target {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) >= c.profile.pauses.CursorStands.Duration, nil
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fault.Errorf(fault.Waiting, "the cursor was not seen on option '%s': Enter was not pressed", option)
	}
	return err
}
