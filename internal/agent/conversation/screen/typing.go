package screen

import (
	"context"
	"errors"
	"strings"
	"time"

	"den/internal/agent/conversation/outbox"
	"den/internal/base/poll"
	"den/internal/place/provider"
)

const (
	// readStands is how long input must have been read for it to be believed
	// where the terminal does not show it: the kernel passes it on a moment
	// after it was written.
	readStands = 250 * time.Millisecond
	// maxEnters bounds how often Enter is pressed again.
	maxEnters = 4
)

// The evidence of receipts.
const (
	byComposer = "its composer showed it whole and then emptied"
	byKernel   = "the program has read all of its input"
)

// hasComposer reports whether the agent has a composer that den can read, and
// its provider can type without Enter.
func (c *Conversation) hasComposer() bool {
	return c.terminal != nil && c.hints.CodingAgent && (c.hints.ReadyPrompt != "" || c.profile.composer.Left != "")
}

// throughComposer types the text, sees it in the composer, and submits it. An
// error means that it could not be typed.
func (c *Conversation) throughComposer(ctx context.Context, text string) (outcome, error) {
	if err := c.sendFree(ctx, provider.Keystrokes{Text: text}); err != nil {
		return outcome{}, err
	}
	return c.submit(ctx, text, ""), nil
}

// submit presses Enter behind text that was typed, and finds out what became
// of it. before is the screen from before it was typed, or "".
func (c *Conversation) submit(ctx context.Context, text, before string) outcome {
	whole := false
	if c.hasComposer() {
		var err error
		if whole, err = c.awaitShown(ctx, text); err != nil {
			return enterMissing(err)
		}
	}
	if why, err := c.pressEnter(ctx, text); err != nil {
		return enterMissing(err)
	} else if why != "" {
		return sent(why)
	}
	if !c.hasComposer() {
		return c.awaitRead(ctx, text, before)
	}
	emptied, err := c.awaitEmptied(ctx, text)
	switch {
	case err != nil:
		return sent("what became of it is not known: " + err.Error())
	case whole && emptied:
		return taken(byComposer)
	case emptied:
		return sent("its composer did not show it")
	}
	return sent("it stands in the agent's composer and was not taken")
}

// awaitShown waits until the composer shows the text whole.
func (c *Conversation) awaitShown(ctx context.Context, text string) (bool, error) {
	return c.awaitComposer(ctx, c.timing.Confirm, func(at *composer) bool { return at != nil && c.profile.holds(at, text) })
}

// awaitComposer waits until the composer satisfies ok, and reports whether it
// did in time.
func (c *Conversation) awaitComposer(ctx context.Context, limit time.Duration, ok func(*composer) bool) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := poll.Until(limited, func() (bool, error) {
		screen, err := c.peek(ctx, messageLines)
		return err == nil && ok(c.profile.findComposer(screen, c.hints.ReadyPrompt)), err
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// awaitEmptied waits until the composer does not hold the text any more. Text
// that stays there gets Enter again, a few times and more and more seldom:
// programs drop one that comes with a paste, or while they come up.
func (c *Conversation) awaitEmptied(ctx context.Context, text string) (bool, error) {
	pause := c.timing.Confirm / 8
	for range maxEnters + 1 {
		emptied, err := c.awaitComposer(ctx, pause, func(at *composer) bool { return at != nil && !c.profile.holds(at, text) })
		if err != nil || emptied {
			if err == nil {
				c.noteHint(ctx)
			}
			return emptied, err
		}
		if err := c.pressAgain(ctx, text); err != nil {
			return false, err
		}
		pause *= 2
	}
	return false, nil
}

// pressAgain presses Enter where the composer is seen and no question is open.
func (c *Conversation) pressAgain(ctx context.Context, text string) error {
	if c.sourceAsks(ctx) {
		return nil
	}
	_, err := c.sendSeen(ctx, enter, func(screen string) bool {
		return c.profile.findComposer(screen, c.hints.ReadyPrompt) != nil && !c.screenAsks(screen, text)
	})
	if errors.Is(err, errRestless) {
		return nil
	}
	return err
}

// throughLine types the text and Enter at a program whose composer is not
// known. An error means that it could not be typed.
func (c *Conversation) throughLine(ctx context.Context, text, before string) (outcome, error) {
	if c.terminal != nil && c.hints.CodingAgent {
		if err := c.sendFree(ctx, provider.Keystrokes{Text: text}); err != nil {
			return outcome{}, err
		}
		return c.submitUnseen(ctx, text), nil
	}
	if err := c.sendFree(ctx, provider.Keystrokes{Text: text, Keys: enter.Keys, EmptyLine: true}); err != nil {
		return outcome{}, err
	}
	return c.awaitRead(ctx, text, before), nil
}

// submitUnseen presses Enter behind a text that cannot be seen.
func (c *Conversation) submitUnseen(ctx context.Context, text string) outcome {
	switch why, err := c.pressEnter(ctx, text); {
	case err != nil:
		return enterMissing(err)
	case why != "":
		return sent(why)
	}
	return sent("its composer is not known")
}

// awaitRead waits until the kernel says that the program has read all of its
// input. What the terminal echoes is no evidence: it only shows that the kernel
// has the text, so that an empty queue means that it was read.
//
// Confirm bounds the time in which it reads nothing: a long text takes a shell
// seconds.
func (c *Conversation) awaitRead(ctx context.Context, text, before string) outcome {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(c.timing.Confirm, cancel)
	defer idle.Stop()
	shown := newTextSearch(text, before)
	var since time.Time // when the queue was first seen empty
	unread, followed := 0, false
	err := poll.Until(limited, func() (bool, error) {
		screen, err := c.peek(ctx, messageLines)
		if err != nil && !unsupported(err) {
			return false, err
		}
		in, err := c.input(ctx) // after the screen: see above
		if err != nil {
			return false, err
		}
		followed = in.UnfinishedKnown
		if in.Unread != unread {
			unread = in.Unread
			idle.Reset(c.timing.Confirm)
		}
		if in.Unread > 0 {
			since = time.Time{}
			return false, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		return shown.foundOn(screen) || time.Since(since) >= readStands, nil
	})
	switch {
	case err == nil:
		if !followed {
			c.submitted.Set()
		}
		return taken(byKernel)
	case limited.Err() != nil: // the caller has no part in it: see hand
		return later("the program has not read it", outbox.ExpectRead)
	case unsupported(err):
		return sent("nobody can tell here what the program reads")
	}
	return sent("what became of it is not known: " + err.Error())
}

// standsTyped reports whether the text was typed and waits for Enter.
func (c *Conversation) standsTyped(ctx context.Context, screen, text string) bool {
	if c.hasComposer() {
		at := c.profile.findComposer(screen, c.hints.ReadyPrompt)
		return at != nil && c.profile.holds(at, text)
	}
	in, err := c.input(ctx)
	if err != nil || c.hints.CodingAgent {
		return false
	}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if in.UnfinishedKnown {
		return in.Unfinished == last && !in.Unsure
	}
	return last != "" && strings.HasSuffix(strings.TrimRight(in.CursorRow, " "), strings.TrimRight(last, " "))
}

// textSearch finds a text that was typed after a given screen was seen.
type textSearch struct {
	mark string
	had  int // how often the mark was on the screen before
}

// newTextSearch returns a search for the end of text: the rest of a long text
// may have scrolled out of view. Occurrences on the screen before do not count.
func newTextSearch(text, before string) textSearch {
	const enough = 32
	runes := []rune(squeeze(text))
	mark := string(runes[max(0, len(runes)-enough):])
	return textSearch{mark: mark, had: strings.Count(squeeze(before), mark)}
}

func (s textSearch) foundOn(screen string) bool {
	return s.mark != "" && strings.Count(squeeze(screen), s.mark) > s.had
}
