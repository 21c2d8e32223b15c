package screen

import (
	"context"
	"strings"
	"time"

	"den/internal/conversation/outbox"
	"den/internal/poll"
)

const (
	// confirmLines is how far up a nudge is looked for: the answer may be long.
	confirmLines = 200
	// echoPatience is how long a terminal may take to show what was typed.
	echoPatience = 2 * time.Second
	// echoStands is how long output must have ended that followed a nudge.
	echoStands = 300 * time.Millisecond
	// maxEnters bounds how often Enter is pressed again.
	maxEnters = 4
	// pasted is what coding agents show in the place of a long paste, without
	// spaces.
	pasted = "[Pasted"
)

// confirmation looks for one nudge on a screen.
type confirmation struct {
	marks    []string // of the text: where it begins, where it ends
	had      []int    // how often each stood there before
	prefix   string
	composer string // before
	seen     bool
	held     bool // it stands in the line where the agent takes input
}

func newConfirmation(text, before, prefix string) *confirmation {
	c := &confirmation{prefix: prefix, composer: composer(before, prefix)}
	c.marks = append(marksOf(text), pasted)
	flat := squeeze(before)
	for _, mark := range c.marks {
		c.had = append(c.had, strings.Count(flat, mark))
	}
	return c
}

// saw takes a screen and reports whether the text went in: it stands there
// once more than before, and not in the agent's line.
func (c *confirmation) saw(screen string) bool {
	flat := squeeze(screen)
	for i, mark := range c.marks {
		c.seen = c.seen || strings.Count(flat, mark) > c.had[i]
	}
	c.held = false
	if c.prefix != "" {
		line := composer(screen, c.prefix)
		c.held = line != c.composer && (strings.Contains(line, c.marks[0]) || strings.Contains(line, pasted))
	}
	return c.seen && !c.held
}

// confirm looks at the screen until it shows that the text went in. Text that
// stays in the agent's line gets Enter again, a few times and more and more
// seldom: programs drop one that comes with a paste, or while they come up.
func (c *Conversation) confirm(ctx context.Context, text, before string) (outbox.Status, string) {
	prefix := c.hints.ReadyPrompt
	limit := c.timing.Confirm
	if prefix == "" {
		limit = min(limit, echoPatience) // a line that is typed is echoed at once, or not at all
	}
	look := newConfirmation(text, before, prefix)
	var still stillness
	enters, next := 0, time.Now().Add(limit/8)
	end := time.Now().Add(limit)
	err := poll.Until(ctx, func() (bool, error) {
		screen, err := c.peek(ctx, confirmLines)
		if err != nil {
			return false, err
		}
		if look.saw(screen) {
			return true, nil
		}
		now := time.Now()
		if !look.held {
			// Output came and the text did not: it is not echoed here.
			silent := prefix == "" && screen != before && still.since(screen) >= echoStands
			if silent || now.After(end) {
				return false, context.DeadlineExceeded
			}
			return false, nil
		}
		if now.After(end.Add(c.timing.Patience)) || enters == maxEnters && now.After(next) {
			return false, context.DeadlineExceeded
		}
		if enters < maxEnters && now.After(next) && takesTyping(screen, prefix) {
			enters++
			next = now.Add(limit / 8 << enters)
			return false, c.provider.SendKeys(ctx, c.session, "Enter")
		}
		return false, nil
	})
	switch {
	case err == nil:
		return outbox.Delivered, ""
	case look.held:
		return outbox.Unconfirmed, "it stands in the agent's line and was not taken"
	case unsupported(err):
		return outbox.Unconfirmed, "the provider shows no screen"
	}
	return outbox.Unconfirmed, "the screen did not show it"
}

// marksOf is the beginning and the end of a text as they can be found on a
// screen.
func marksOf(text string) []string {
	const enough = 32
	var first, last []rune
	for line := range strings.Lines(text) {
		if s := []rune(squeeze(line)); len(s) > 0 {
			if first == nil {
				first = s
			}
			last = s
		}
	}
	return []string{string(first[:min(len(first), enough)]), string(last[max(0, len(last)-enough):])}
}

// composer returns what stands in the line where an agent takes input, and in
// its further lines, without spaces.
func composer(screen, prefix string) string {
	glyph := strings.TrimSpace(strings.ReplaceAll(prefix, "\u00a0", " "))
	rows := rowsOf(screen)
	for i := len(rows) - 1; i >= 0 && i > len(rows)-40; i-- {
		rest, ok := strings.CutPrefix(rows[i].text, glyph)
		if !ok || glyph == "" {
			continue
		}
		for _, r := range rows[i+1:] {
			if r.blank() || r.indent <= rows[i].indent {
				break
			}
			rest += r.text
		}
		return squeeze(rest)
	}
	return ""
}
