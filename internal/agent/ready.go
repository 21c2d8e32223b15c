package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"den/internal/fault"
)

const (
	// settle is how long a session is watched that does not show itself ready:
	// a command that cannot work mostly ends within it.
	settle = 150 * time.Millisecond
	// firstScreen is how long a program may show nothing before the steps go on:
	// what it draws later is seen while it is waited for.
	firstScreen = 2 * time.Second
	// promptStands is how long a prompt must stand on an unchanged screen.
	promptStands = 400 * time.Millisecond
	// promptPatience is how long a program may wait for input without showing
	// the prompt that its hints name, before its word is taken for it.
	promptPatience = 2 * time.Second
)

// dialogs answers what the agent asks as it comes up. Questions are drawn
// late: this looks until there is something to see.
func (m *Managed) dialogs(ctx context.Context) (string, Outcome, error) {
	if !m.config.mayAsk() {
		return "", Skipped, nil
	}
	look, cancel := context.WithTimeout(ctx, min(firstScreen, m.config.StartupTimeout/2))
	defer cancel()
	err := poll(look, func() (bool, error) {
		if err := m.dead(ctx); err != nil {
			return false, err
		}
		screen, err := m.provider.Peek(ctx, m.session, peekLines)
		return strings.TrimSpace(screen) != "", err
	})
	if unsupported(err) {
		return "the provider shows no screen", Skipped, nil
	}
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return "", Failed, err
	}
	return m.answerAll(ctx)
}

// answerAll answers dialogs until none is there.
func (m *Managed) answerAll(ctx context.Context) (string, Outcome, error) {
	var answered []string
	for range maxDialogs {
		screen, err := m.provider.Peek(ctx, m.session, peekLines)
		if unsupported(err) {
			return "the provider shows no screen", Skipped, nil
		}
		if err != nil {
			return strings.Join(answered, ", "), Failed, err
		}
		s := recognise(screen)
		if s == nil {
			break
		}
		if m.leftAlone == screen {
			return "the dialog '" + s.dialog.name + "' is still there", Blocked, nil
		}
		if err := m.answer(ctx, s); err != nil {
			if fault.KindOf(err) != fault.Waiting {
				return strings.Join(answered, ", "), Failed, err
			}
			m.leftAlone = screen
			return strings.Join(append(answered, err.Error()), ", "), Blocked, nil
		}
		answered = append(answered, s.dialog.name)
	}
	return strings.Join(answered, ", "), Done, nil
}

// dialogsAgain catches what was drawn after the agent looked ready.
func (m *Managed) dialogsAgain(ctx context.Context) (string, Outcome, error) {
	if !m.config.mayAsk() {
		return "", Skipped, nil
	}
	return m.answerAll(ctx)
}

// ready waits until the agent takes input: the provider knows, or the screen
// shows its prompt, or the time that the user gave has passed. Dialogs that
// come up meanwhile are answered.
func (m *Managed) ready(ctx context.Context) (string, Outcome, error) {
	h := m.config.Hints
	delay := time.Duration(h.ReadyDelayMs) * time.Millisecond
	if h.ReadyPromptPrefix == "" && delay == 0 {
		return "", Skipped, nil
	}
	look, cancel := context.WithTimeout(ctx, m.readyLimit(delay))
	defer cancel()
	watch := m.watchReady(look)
	defer watch.stop()
	var said []string
	var still stillness
	var waits time.Time // since when it waits for input, whatever it shows
	err := poll(look, func() (bool, error) {
		if err := m.dead(ctx); err != nil {
			return false, err
		}
		screen, err := m.provider.Peek(ctx, m.session, peekLines)
		if unsupported(err) {
			return watch.ready(), nil
		}
		if err != nil {
			return false, err
		}
		if s := recognise(screen); s != nil && m.config.mayAsk() {
			if m.leftAlone == screen {
				return false, m.unanswered(s, "as before")
			}
			if err := m.answer(ctx, s); err != nil {
				m.leftAlone = screen
				return false, err
			}
			said = append(said, s.dialog.name)
			watch.again()
			return false, nil
		}
		if h.ReadyPromptPrefix != "" && takesTyping(screen, h.ReadyPromptPrefix) {
			// Programs that ask draw their prompt first and the question over it.
			return !m.config.mayAsk() || still.since(screen) >= promptStands, nil
		}
		if !watch.ready() {
			waits = time.Time{}
			return false, nil
		}
		if waits.IsZero() {
			waits = time.Now()
		}
		return h.ReadyPromptPrefix == "" || time.Since(waits) > promptPatience, nil
	})
	output := strings.Join(said, ", ")
	switch {
	case err == nil:
		return output, Done, nil
	case fault.KindOf(err) == fault.Waiting:
		return err.Error(), Blocked, nil
	case look.Err() == nil || fault.KindOf(err) == fault.NotRunning || errors.Is(ctx.Err(), context.Canceled):
		return output, Failed, err
	case h.ReadyPromptPrefix == "":
		return fmt.Sprintf("after %v", delay), Done, nil
	}
	return fmt.Sprintf("'%s' was not seen on the screen", h.ReadyPromptPrefix), Late, nil
}

// readyLimit leaves the rest of the step's time to say how it went. Without a
// prompt to look for, the user's delay is all there is to wait for.
func (m *Managed) readyLimit(delay time.Duration) time.Duration {
	limit := m.config.StartupTimeout * 9 / 10
	if m.config.Hints.ReadyPromptPrefix == "" {
		return min(delay, limit)
	}
	return limit
}

// dead returns an error that says how the agent ended, nil while it runs.
func (m *Managed) dead(ctx context.Context) error {
	running, err := m.provider.IsRunning(ctx, m.session)
	if err != nil || running {
		return err
	}
	how := "it ended at once"
	if exit, err := m.Exit(ctx); err == nil && exit != nil {
		if how = fmt.Sprintf("it ended at once, with status %d", exit.Code); exit.Signal != "" {
			how = "it was ended at once by " + exit.Signal
		}
	}
	return fault.Hintf(fault.Errorf(fault.NotRunning, "%s", how), "its command is %s", strings.Join(m.config.Command, " "))
}

func unsupported(err error) bool { return fault.KindOf(err) == fault.Unsupported }

// stillness tells how long a screen has not changed.
type stillness struct {
	screen string
	began  time.Time
}

func (s *stillness) since(screen string) time.Duration {
	if s.began.IsZero() || screen != s.screen {
		s.screen, s.began = screen, time.Now()
	}
	return time.Since(s.began)
}
