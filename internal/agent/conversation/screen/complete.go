package screen

import (
	"context"
	"slices"

	"den/internal/agent/conversation"
)

// seen is a state, and what its question is known by.
type seen struct {
	conversation.State
	told    string // the id that the source gave the question, "" where it has none
	shown   string // the id of the question on the screen, "" where that was not looked for
	partial bool   // the source tells of a question, but not how it can be answered
	over    bool   // the source tells that the last turn has ended
}

// same reports whether a later state differs in nothing that callers act on. A
// question that was told in part, and is whole by now, is the same one.
func (s seen) same(later seen) bool {
	if s.Activity != later.Activity || s.Activity == conversation.TurnFailed && s.Why != later.Why {
		return false
	}
	if s.Question == nil || later.Question == nil {
		return s.Question == nil && later.Question == nil
	}
	if s.Question.ID == later.Question.ID {
		return true
	}
	if !s.partial || s.Source != later.Source {
		return false
	}
	return !later.partial || s.told == later.told && !s.whole()
}

// whole reports whether it is known how a question can be answered.
func (s seen) whole() bool { return s.Question == nil || len(s.Question.Options) > 0 }

// completed adds to the word of a source what only the screen knows: what is
// asked, where the source tells that something is, and what no source tells.
func (c *Conversation) completed(ctx context.Context, told conversation.State) seen {
	s := seen{State: told, over: told.Activity.TakesMessage()}
	if told.Question != nil {
		s.told, s.partial = told.Question.ID, len(told.Question.Options) == 0
	}
	if !c.hints.CodingAgent || !s.partial && !(told.Activity == conversation.Ready && c.profile.untold()) {
		return s
	}
	screen, err := c.peek(ctx, peekLines)
	if err != nil {
		return s // what the source tells is so
	}
	c.profile.complete(&s, screen, c.hints.ReadyPrompt)
	if s.partial {
		c.rememberWhole(&s)
	}
	return s
}

// rememberWhole keeps a question as it was seen whole. It stays so while its
// source tells of the same: its screen may be half drawn.
func (c *Conversation) rememberWhole(s *seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.whole():
		c.whole = *s
	case c.whole.told == s.told && c.whole.Source == s.Source && c.whole.Question != nil:
		s.Question, s.shown = c.whole.Question, c.whole.shown
	}
}

// complete adds what a screen tells to the word of a source. A question that a
// source does not tell of must stand in the place of the composer: a text that
// looks like one does not.
func (p *profile) complete(s *seen, screen, prompt string) {
	shown := p.question(screen)
	switch {
	case shown == nil && s.Activity == conversation.Ready && p.failedUntold:
		if at := p.findComposer(screen, prompt); at != nil {
			s.fail(p.failure(rowsOf(screen), at, prompt))
		}
	case shown == nil:
	case s.Activity == conversation.Asking:
		s.Question, s.shown = p.completeQuestion(s.Question, shown), shown.ID
	case s.Activity == conversation.Ready && p.isUntold(shown) && p.asksBeside(screen, prompt, ""):
		s.Activity, s.Question, s.shown, s.Source, s.Why = conversation.Asking, shown, shown.ID, screenSource, ""
	}
}

// fail makes a state that of a turn that failed, if there is a reason.
func (s *seen) fail(why string) {
	if why != "" {
		s.Activity, s.Why, s.Source = conversation.TurnFailed, why, screenSource
	}
}

// completeQuestion joins what a source and the screen tell of one question. The
// source's id does not depend on what is drawn, but where that is one for
// several. It may know the text better, and knows the kind, but for what words
// on the screen say of it.
func (p *profile) completeQuestion(told, shown *conversation.Question) *conversation.Question {
	q := *shown
	if q.ID = told.ID; told.SharedID {
		q.ID = hash(told.ID + "\n" + shown.ID)[:12]
	}
	if !told.Vague {
		q.Text = told.Text
	}
	words := p.questionWords(lowered(shown.Text))
	if words == nil || words.Kind == conversation.Permission {
		q.Kind = told.Kind
	}
	return &q
}

// untold reports whether the screen may show what no source tells of.
func (p *profile) untold() bool {
	return p.failedUntold || slices.ContainsFunc(p.questions, func(w questionWords) bool { return w.Untold })
}

func (p *profile) isUntold(q *conversation.Question) bool {
	words := p.questionWords(lowered(q.Text))
	return words != nil && words.Untold
}
