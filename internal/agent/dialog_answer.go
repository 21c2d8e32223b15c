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
	// maxDialogs bounds the questions that one start answers.
	maxDialogs = 8
	// dialogPatience is how long a program may take to follow a key.
	dialogPatience = 5 * time.Second
)

// answer chooses the affirmative option of a known dialog: keys move the
// cursor, the screen shows it on that row, and only then comes Enter. It
// returns when the dialog has gone.
func (m *Managed) answer(ctx context.Context, s *sighting) error {
	if s.dialog.permission && !m.config.Hints.EmitsPermissionWarning {
		return m.unanswered(s, "the agent's hints expect none (emits_permission_warning)")
	}
	if !s.known() {
		return m.unanswered(s, s.why)
	}
	ctx, cancel := context.WithTimeout(ctx, dialogPatience)
	defer cancel()
	key, steps := "Down", s.target-s.menu.chosen
	if steps < 0 {
		key, steps = "Up", -steps
	}
	for range steps {
		if err := m.provider.SendKeys(ctx, m.session, key); err != nil {
			return fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
		}
	}
	want := s.menu.options[s.target]
	there := func(now *sighting) bool {
		return now != nil && now.known() && now.dialog == s.dialog && slices.Equal(now.menu.options, s.menu.options) && now.menu.chosen == s.target
	}
	if err := m.untilDialog(ctx, there); err != nil {
		return m.unanswered(s, fmt.Sprintf("the cursor was not seen on '%s' after %d times %s: Enter was not pressed", want, steps, key))
	}
	if err := m.provider.SendKeys(ctx, m.session, "Enter"); err != nil {
		return fmt.Errorf("answer the dialog '%s': %w", s.dialog.name, err)
	}
	gone := func(now *sighting) bool { return now == nil || now.dialog != s.dialog }
	if err := m.untilDialog(ctx, gone); err != nil {
		return m.unanswered(s, "it did not go away after Enter on '"+want+"'")
	}
	return nil
}

func (m *Managed) unanswered(s *sighting, why string) error {
	return fault.Hintf(fault.Errorf(fault.Waiting, "the dialog '%s' is on the screen and was left alone: %s", s.dialog.name, why),
		"answer it yourself: den agent attach %s", m.name)
}

// untilDialog looks at the screen until what is recognised there satisfies ok.
func (m *Managed) untilDialog(ctx context.Context, ok func(*sighting) bool) error {
	return poll(ctx, func() (bool, error) {
		screen, err := m.provider.Peek(ctx, m.session, peekLines)
		if err != nil {
			return false, err
		}
		return ok(recognise(screen)), nil
	})
}
