package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"den/internal/fault"
)

const (
	// peekLines is a screen and then some: dialogs stand at its end.
	peekLines = 80
	// maxDialogs bounds the questions that one start answers, maxTries how
	// often each is answered.
	maxDialogs = 8
	maxTries   = 4
	// dialogStands is how long a dialog must stand unchanged before a key is
	// pressed: claude takes no answer in a dialog's first moments, draws it
	// anew and puts the cursor back.
	dialogStands = 300 * time.Millisecond
	cursorStands = 60 * time.Millisecond
	// dialogPatience is how long a program may take to follow a key.
	dialogPatience = 3 * time.Second
)

// answer chooses the affirmative option of a known dialog: keys move the
// cursor, the screen shows it on that row, and only then comes Enter. It
// returns when the dialog has gone. A dialog that stays is answered again, in
// the same way: each Enter follows a look at the cursor.
func (m *Managed) answer(ctx context.Context, s *sighting) error {
	if s.dialog.permission && !m.config.Hints.EmitsPermissionWarning {
		return m.unanswered(s, "the agent's hints expect none (emits_permission_warning)")
	}
	if !s.known() {
		return m.unanswered(s, s.why)
	}
	for range maxTries {
		now, err := m.standing(ctx, s.dialog)
		if err != nil || now == nil {
			return err
		}
		if !now.known() {
			return m.unanswered(now, now.why)
		}
		if pressed, err := m.choose(ctx, now); err != nil {
			return err
		} else if !pressed {
			continue // from where the cursor is now
		}
		switch gone, err := m.looks(ctx, dialogPatience/2, 0, func(seen *sighting) bool { return seen == nil || seen.dialog != s.dialog }); {
		case err != nil:
			return err
		case gone:
			return nil
		}
	}
	return m.unanswered(s, fmt.Sprintf("it did not go away after %d tries to choose '%s'", maxTries, s.menu.options[s.target]))
}

// standing waits until the dialog does not change any more and returns it, nil
// where it has gone.
func (m *Managed) standing(ctx context.Context, d *dialog) (*sighting, error) {
	var last *sighting
	since := time.Now()
	stood, err := m.looks(ctx, dialogPatience, 0, func(now *sighting) bool {
		if now == nil || now.dialog != d {
			last = nil
			return true
		}
		if last == nil || !now.same(last) {
			last, since = now, time.Now()
		}
		return time.Since(since) >= dialogStands
	})
	if err == nil && !stood {
		err = m.unanswered(last, "it does not stop changing")
	}
	return last, err
}

// same reports whether two sightings show one state of one dialog.
func (s *sighting) same(o *sighting) bool {
	if s.dialog != o.dialog || s.known() != o.known() || !s.known() {
		return s.dialog == o.dialog && s.known() == o.known()
	}
	return slices.Equal(s.menu.options, o.menu.options) && s.menu.chosen == o.menu.chosen
}

// choose moves the cursor to the target, sees it there, and presses Enter. It
// presses nothing where the cursor stood there and was then put back.
func (m *Managed) choose(ctx context.Context, s *sighting) (pressed bool, err error) {
	key, steps := "Down", s.target-s.menu.chosen
	if steps < 0 {
		key, steps = "Up", -steps
	}
	for range steps {
		if err := m.provider.SendKeys(ctx, m.session, key); err != nil {
			return false, fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
		}
	}
	there, err := m.looks(ctx, dialogPatience, cursorStands, func(now *sighting) bool {
		return now != nil && now.known() && now.dialog == s.dialog && slices.Equal(now.menu.options, s.menu.options) && now.menu.chosen == s.target
	})
	if err != nil || !there && steps == 0 {
		return false, err
	}
	if !there {
		return false, m.unanswered(s, fmt.Sprintf("the cursor was not seen on '%s' after %d times %s: Enter was not pressed", s.menu.options[s.target], steps, key))
	}
	if err := m.provider.SendKeys(ctx, m.session, "Enter"); err != nil {
		return false, fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
	}
	return true, nil
}

// looks looks at the screen until what is recognised there has satisfied ok for
// so long. It reports whether that came in time.
func (m *Managed) looks(ctx context.Context, limit, stands time.Duration, ok func(*sighting) bool) (bool, error) {
	look, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var since time.Time
	err := pollEvery(look, 20*time.Millisecond, func() (bool, error) {
		screen, err := m.provider.Peek(ctx, m.session, peekLines)
		if err != nil {
			return false, err
		}
		if !ok(recognise(screen)) {
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

func (m *Managed) unanswered(s *sighting, why string) error {
	return fault.Hintf(fault.Errorf(fault.Waiting, "the dialog '%s' is on the screen and was left alone: %s", s.dialog.name, why),
		"answer it yourself: den agent attach %s", m.name)
}
