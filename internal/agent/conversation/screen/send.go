package screen

import (
	"context"
	"errors"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
)

// standsStill is how long a screen is looked at again and again because it
// changes between the look and the keys that were meant for it.
const standsStill = 2 * time.Second

// errRestless is the error of a screen that changed all that time.
var errRestless error = &fault.Error{Kind: fault.Busy, Err: errors.New("its screen does not stand still")}

// enter is the key that submits a text, and that answers a dialog.
var enter = provider.Keystrokes{Keys: []string{"Enter"}}

// sendSeen looks at the screen and sends keystrokes if they are meant for what it
// shows. Where the provider can tell that the program has written something in
// between, it sends none and looks again; elsewhere nothing but the keystrokes
// comes after the look. sent is false where the screen is not the right one, or
// with an error.
func (c *Conversation) sendSeen(ctx context.Context, k provider.Keystrokes, meant func(screen string) bool) (sent bool, err error) {
	// The limit is not for what is being sent: nobody would know what became of it.
	limited, cancel := context.WithTimeout(ctx, standsStill)
	defer cancel()
	over := poll.Until(limited, func() (bool, error) {
		var changed bool
		sent, changed, err = c.sendOnce(ctx, k, meant)
		return !changed, nil
	})
	if over != nil && err == nil {
		err = errRestless
	}
	return sent, err
}

// sendOnce is sendSeen with one look. changed says that another one is needed.
func (c *Conversation) sendOnce(ctx context.Context, k provider.Keystrokes, meant func(screen string) bool) (sent, changed bool, err error) {
	screen, at, err := c.peekAt(ctx)
	switch fault.KindOf(err) {
	case "", fault.Unsupported, fault.NotFound, fault.NotRunning:
	default:
		err = fault.Errorf(fault.Busy, "its screen could not be read: %w", err) // and so nothing was sent
	}
	if err != nil && !unsupported(err) {
		return false, false, err
	}
	if !meant(screen) {
		return false, false, nil
	}
	err = c.sendAt(ctx, at, k)
	if errors.Is(err, provider.ErrChanged) {
		return false, true, nil
	}
	return err == nil, false, err
}

// peekAt is peek with the moment of the screen, 0 where the provider knows none.
func (c *Conversation) peekAt(ctx context.Context) (string, provider.Moment, error) {
	if c.looker != nil {
		return c.looker.Look(ctx, c.session, messageLines)
	}
	screen, err := c.peek(ctx, messageLines)
	return screen, 0, err
}

// sendAt sends a text, a text and Enter, or keys.
func (c *Conversation) sendAt(ctx context.Context, at provider.Moment, k provider.Keystrokes) error {
	if c.looker != nil {
		if err := c.looker.SendAt(ctx, c.session, at, k); !unsupported(err) {
			return err
		}
	}
	switch {
	case k.Text == "":
		return c.provider.SendKeys(ctx, c.session, k.Keys...)
	case len(k.Keys) == 0:
		return c.terminal.Type(ctx, c.session, k.Text)
	}
	return c.provider.Nudge(ctx, c.session, k.Text)
}

// sendFree sends a message's first keystrokes where no dialog is open and no
// draft stands in the composer. An error means that nothing was submitted,
// unless it is fault.Unsure; of what may pass it is fault.Busy.
func (c *Conversation) sendFree(ctx context.Context, k provider.Keystrokes) error {
	err := c.sendIfFree(ctx, k)
	if errors.Is(err, provider.ErrUnanswered) && submits(k) {
		return fault.Errorf(fault.Unsure, "%w", err)
	}
	return err
}

// submits reports whether a program may take keystrokes for a whole message or
// a part of it. A text without a line end goes with the program that it was
// typed at.
func submits(k provider.Keystrokes) bool {
	return len(k.Keys) > 0 || strings.ContainsAny(k.Text, "\r\n")
}

func (c *Conversation) sendIfFree(ctx context.Context, k provider.Keystrokes) error {
	if c.sourceAsks(ctx) {
		return fault.Errorf(fault.Busy, dialogOpen)
	}
	why := ""
	_, err := c.sendSeen(ctx, k, func(screen string) bool {
		why = c.composerObstacle(ctx, screen)
		return why == ""
	})
	switch {
	case why != "":
		return fault.Errorf(fault.Busy, "%s", why)
	case errors.Is(err, errRestless) && !c.hints.CodingAgent:
		return c.sendAt(ctx, 0, k) // it prints all the time, and draws no dialogs
	}
	return err
}

// composerObstacle says why a screen is no place to type at.
func (c *Conversation) composerObstacle(ctx context.Context, screen string) string {
	if c.screenAsks(screen, "") {
		return dialogOpen
	}
	if c.hasComposer() {
		return c.draftObstacle(ctx, screen)
	}
	return ""
}

// pressEnter presses Enter once no question is open: it would be the answer.
// why says what kept it from that.
func (c *Conversation) pressEnter(ctx context.Context, text string) (why string, err error) {
	limited, cancel := context.WithTimeout(ctx, c.timing.Patience)
	defer cancel()
	over := poll.Until(limited, func() (bool, error) {
		if why = "a dialog opened while it was typed, so Enter was not pressed"; c.sourceAsks(ctx) {
			return false, nil
		}
		var pressed bool
		pressed, err = c.sendSeen(ctx, enter, func(screen string) bool { return !c.screenAsks(screen, text) })
		if errors.Is(err, errRestless) {
			why, err = err.Error()+", so Enter was not pressed", nil
		}
		return pressed || err != nil, nil
	})
	if over != nil {
		return why, nil
	}
	return "", err
}
