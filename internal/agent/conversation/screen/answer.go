package screen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

const (
	// peekLines is a screen and then some: dialogs stand at its end.
	peekLines = 80
	// maxDialogs bounds the questions that one start answers, maxTries how
	// often each is answered.
	maxDialogs = 8
	maxTries   = 4
)

// answer chooses the affirmative option of a known dialog: keys move the
// cursor, the screen shows it on that row, and only then comes Enter. It
// returns when the dialog has gone. A dialog that stays is answered again, in
// the same way: each Enter follows a look at the cursor.
func (c *Conversation) answer(ctx context.Context, s *detectedDialog) error {
	if s.dialog.permission && !c.hints.PermissionDialog {
		return c.unanswered(s, "the agent's hints expect none (emits_permission_warning)")
	}
	if !s.known() {
		return c.unanswered(s, s.why)
	}
	for range maxTries {
		now, err := c.awaitStanding(ctx, s.dialog)
		if err != nil || now == nil {
			return err
		}
		if !now.known() {
			return c.unanswered(now, now.why)
		}
		if pressed, err := c.choose(ctx, now); err != nil {
			return err
		} else if !pressed {
			continue // from where the cursor is now
		}
		switch gone, err := c.awaitDialog(ctx, c.profile.pauses.DialogPatience.Duration/2, 0, func(seen *detectedDialog) bool { return seen == nil || seen.dialog != s.dialog }); {
		case err != nil:
			return err
		case gone:
			return nil
		}
	}
	return c.unanswered(s, fmt.Sprintf("it did not go away after %d tries to choose '%s'", maxTries, s.menu.options[s.target]))
}

// answerAlone answers a dialog unless somebody is there to do it.
func (c *Conversation) answerAlone(ctx context.Context, d *detectedDialog) error {
	if c.terminal != nil {
		if n, _, err := c.terminal.Attached(ctx, c.session); err != nil || n > 0 {
			return err
		}
	}
	return c.answer(ctx, d)
}

// awaitStanding waits until the dialog does not change any more and returns it, nil
// where it has gone.
func (c *Conversation) awaitStanding(ctx context.Context, d *dialog) (*detectedDialog, error) {
	var last *detectedDialog
	since := time.Now()
	stood, err := c.awaitDialog(ctx, c.profile.pauses.DialogPatience.Duration, 0, func(now *detectedDialog) bool {
		if now == nil || now.dialog != d {
			last = nil
			return true
		}
		if last == nil || !now.same(last) {
			last, since = now, time.Now()
		}
		return time.Since(since) >= c.profile.pauses.DialogStands.Duration
	})
	if err == nil && !stood {
		err = c.unanswered(last, "it does not stop changing")
	}
	return last, err
}

// same reports whether two detectedDialogs show one state of one dialog.
func (d *detectedDialog) same(o *detectedDialog) bool {
	if d.dialog != o.dialog || d.known() != o.known() || !d.known() {
		return d.dialog == o.dialog && d.known() == o.known()
	}
	return slices.Equal(d.menu.options, o.menu.options) && d.menu.chosen == o.menu.chosen
}

// choose moves the cursor to the target, sees it there, and presses Enter. It
// presses nothing where the cursor stood there and was then put back.
func (c *Conversation) choose(ctx context.Context, s *detectedDialog) (pressed bool, err error) {
	key, steps := "Down", s.target-s.menu.chosen
	if steps < 0 {
		key, steps = "Up", -steps
	}
	for range steps {
		if err := c.provider.SendKeys(ctx, c.session, key); err != nil {
			return false, fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
		}
	}
	there, err := c.awaitDialog(ctx, c.profile.pauses.DialogPatience.Duration, c.profile.pauses.CursorStands.Duration, func(now *detectedDialog) bool { return now.isOn(s) })
	if err != nil || !there && steps == 0 {
		return false, err
	}
	if !there {
		return false, c.unanswered(s, fmt.Sprintf("the cursor was not seen on '%s' after %d times %s: Enter was not pressed", s.menu.options[s.target], steps, key))
	}
	return c.pressOn(ctx, s)
}

// pressOn presses Enter where the cursor is seen on the option to choose.
func (c *Conversation) pressOn(ctx context.Context, s *detectedDialog) (pressed bool, err error) {
	pressed, err = c.sendSeen(ctx, enter, func(screen string) bool { return c.profile.detectDialog(screen).isOn(s) })
	switch {
	case errors.Is(err, errRestless):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
	}
	return pressed, nil
}

// isOn reports whether a screen shows the same dialog, and its cursor on the
// option to choose. d may be nil: it shows none.
func (d *detectedDialog) isOn(s *detectedDialog) bool {
	return d != nil && d.known() && d.dialog == s.dialog && slices.Equal(d.menu.options, s.menu.options) && d.menu.chosen == s.target
}

// awaitDialog looks at the screen until the dialog found there has satisfied ok
// for so long. It reports whether that came in time.
func (c *Conversation) awaitDialog(ctx context.Context, limit, stands time.Duration, ok func(*detectedDialog) bool) (bool, error) {
	look, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var since time.Time
	err := poll.Every(look, 20*time.Millisecond, func() (bool, error) {
		screen, err := c.peek(ctx, peekLines)
		if err != nil {
			return false, err
		}
		if !ok(c.profile.detectDialog(screen)) {
			since = time.Time{}
			return false, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= stands, nil
	})
	if err != nil && look.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

func (c *Conversation) unanswered(s *detectedDialog, why string) error {
	return fault.Hintf(fault.Errorf(fault.Waiting, "the dialog '%s' is on the screen and was left alone: %s", s.dialog.name, why),
		"answer it yourself: den agent attach %s", c.agent)
}
