package agent

import (
	"context"
	"strings"
	"time"
)

// confirmLines is how far up a nudge is looked for: the answer may be long.
const confirmLines = 200

// echoPatience is how long a terminal may take to show what was typed.
const echoPatience = time.Second

// pasted is what coding agents show in the place of a long paste.
const pasted = "[Pastedtext"

// confirm looks at the screen until it shows that the text went in: it stands
// there once more than before, and the line where the agent takes input, if
// that is known, does not hold it any more. Text that stays in that line gets
// Enter again, twice at most: programs drop one that comes with a paste.
func (m *Managed) confirm(ctx context.Context, text, before string, limit time.Duration) (NudgeState, string) {
	if m.config.Hints.ReadyPromptPrefix == "" {
		limit = min(limit, echoPatience) // a line that is typed is echoed at once, or not at all
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	head := headOf(text)
	had := strings.Count(squeeze(before), head) + strings.Count(squeeze(before), pasted)
	prefix := m.config.Hints.ReadyPromptPrefix
	seen, held, pressed := false, false, 0
	heldSince := time.Time{}
	err := poll(ctx, func() (bool, error) {
		screen, err := m.provider.Peek(ctx, m.session, confirmLines)
		if err != nil {
			return false, err
		}
		flat := squeeze(screen)
		seen = seen || strings.Count(flat, head)+strings.Count(flat, pasted) > had
		held = false
		if prefix != "" {
			line := composer(screen, prefix)
			held = strings.HasPrefix(line, head) || strings.HasPrefix(line, pasted)
		}
		if !held {
			heldSince = time.Time{}
			return seen, nil
		}
		seen = true
		if heldSince.IsZero() {
			heldSince = time.Now()
		}
		if time.Since(heldSince) > limit/4 && pressed < 2 && !asks(screen) {
			pressed++
			heldSince = time.Now()
			return false, m.provider.SendKeys(ctx, m.session, "Enter")
		}
		return false, nil
	})
	switch {
	case err == nil:
		return NudgeDelivered, ""
	case held:
		return NudgeUnconfirmed, "it stands in the agent's line and was not taken"
	case unsupported(err):
		return NudgeUnconfirmed, "the provider shows no screen"
	}
	return NudgeUnconfirmed, "the screen did not show it"
}

// headOf is the beginning of a text as it can be found on a screen.
func headOf(text string) string {
	const enough = 32
	for line := range strings.Lines(text) {
		if s := []rune(squeeze(line)); len(s) > 0 {
			return string(s[:min(len(s), enough)])
		}
	}
	return squeeze(text)
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
