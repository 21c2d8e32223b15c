package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

const (
	// firstScreen is how long a program may show nothing before the steps go on:
	// what it draws later is seen while it is waited for.
	firstScreen = 2 * time.Second
	// promptPatience is how long a program may wait for input without showing
	// the prompt that its hints name, before its word is taken for it.
	promptPatience = 2 * time.Second
)

// Outcome is how a part of a start went.
type Outcome string

// The outcomes. The values are shown: add, never rename.
const (
	Done    Outcome = "done"
	Skipped Outcome = "skipped" // nothing was asked for
	Late    Outcome = "late"    // the agent lives, but did not show itself ready in time
	Blocked Outcome = "blocked" // a dialog is on the screen that den leaves alone
	Failed  Outcome = "failed"
)

// FirstDialogs answers what the agent asks as it comes up. Questions are drawn
// late: this looks until there is something to see.
func (c *Conversation) FirstDialogs(ctx context.Context) (string, Outcome, error) {
	c.leftAlone = ""
	if !c.hints.CodingAgent {
		return "", Skipped, nil
	}
	look, cancel := context.WithTimeout(ctx, min(firstScreen, c.hints.StepTimeout/2))
	defer cancel()
	err := poll.Until(look, func() (bool, error) {
		if err := c.ended(ctx); err != nil {
			return false, err
		}
		screen, err := c.peek(ctx, peekLines)
		return strings.TrimSpace(screen) != "", err
	})
	if unsupported(err) {
		return "the provider shows no screen", Skipped, nil
	}
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return "", Failed, err
	}
	return c.answerAll(ctx)
}

// answerAll answers dialogs until none is there.
func (c *Conversation) answerAll(ctx context.Context) (string, Outcome, error) {
	var answered []string
	for range maxDialogs {
		screen, err := c.peek(ctx, peekLines)
		if unsupported(err) {
			return "the provider shows no screen", Skipped, nil
		}
		if err != nil {
			return strings.Join(answered, ", "), Failed, err
		}
		d := c.profile.detectDialog(screen)
		if d == nil {
			break
		}
		if c.leftAlone == screen {
			return "the dialog '" + d.dialog.name + "' is still there", Blocked, nil
		}
		if err := c.answer(ctx, d); err != nil {
			if fault.KindOf(err) != fault.Waiting {
				return strings.Join(answered, ", "), Failed, err
			}
			c.leftAlone = screen
			return strings.Join(append(answered, err.Error()), ", "), Blocked, nil
		}
		answered = append(answered, d.dialog.name)
	}
	return strings.Join(answered, ", "), Done, nil
}

// LastDialogs catches what was drawn after the agent looked ready.
func (c *Conversation) LastDialogs(ctx context.Context) (string, Outcome, error) {
	if !c.hints.CodingAgent {
		return "", Skipped, nil
	}
	return c.answerAll(ctx)
}

// AwaitReady waits until the agent takes input: the provider knows, or the screen
// shows its prompt, or the time that the user gave has passed. Dialogs that
// come up meanwhile are answered.
func (c *Conversation) AwaitReady(ctx context.Context) (string, Outcome, error) {
	prompt, delay := c.hints.ReadyPrompt, c.hints.ReadyDelay
	if prompt == "" && delay == 0 {
		return "", Skipped, nil
	}
	look, cancel := context.WithTimeout(ctx, c.readyLimit(delay))
	defer cancel()
	watch := c.WatchReady(look)
	defer watch.Stop()
	var said []string
	var still stillness
	var waits time.Time // since when it waits for input, whatever it shows
	err := poll.Until(look, func() (bool, error) {
		if err := c.ended(ctx); err != nil {
			return false, err
		}
		screen, err := c.peek(ctx, peekLines)
		if unsupported(err) {
			return watch.Ready(), nil
		}
		if err != nil {
			return false, err
		}
		if d := c.profile.detectDialog(screen); d != nil && c.hints.CodingAgent {
			if c.leftAlone == screen {
				return false, c.unanswered(d, "as before")
			}
			if err := c.answer(ctx, d); err != nil {
				c.leftAlone = screen
				return false, err
			}
			said = append(said, d.dialog.name)
			watch.again()
			return false, nil
		}
		if prompt != "" && c.profile.takesTyping(screen, prompt) {
			// Programs that ask draw their prompt first and the question over it.
			return !c.hints.CodingAgent || still.since(screen) >= c.profile.pauses.PromptStands.Duration, nil
		}
		if !watch.Ready() {
			waits = time.Time{}
			return false, nil
		}
		if waits.IsZero() {
			waits = time.Now()
		}
		return prompt == "" || time.Since(waits) > promptPatience, nil
	})
	output := strings.Join(said, ", ")
	switch {
	case err == nil:
		return output, Done, nil
	case fault.KindOf(err) == fault.Waiting:
		return err.Error(), Blocked, nil
	case look.Err() == nil || fault.KindOf(err) == fault.NotRunning || errors.Is(ctx.Err(), context.Canceled):
		return output, Failed, err
	case prompt == "":
		return fmt.Sprintf("after %v", delay), Done, nil
	}
	return fmt.Sprintf("'%s' was not seen on the screen", prompt), Late, nil
}

// readyLimit leaves the rest of the step's time to say how it went. Without a
// prompt to look for, the user's delay is all there is to wait for.
func (c *Conversation) readyLimit(delay time.Duration) time.Duration {
	limit := c.hints.StepTimeout * 9 / 10
	if c.hints.ReadyPrompt == "" {
		return min(delay, limit)
	}
	return limit
}

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

// askAgain is the pause after a provider could not tell.
const askAgain = 200 * time.Millisecond

// A ReadyWatch asks a provider in the background whether the program waits for
// its user, so that the screen can be looked at meanwhile. Whoever makes one
// stops it.
type ReadyWatch struct {
	ctx    context.Context
	cancel context.CancelFunc
	ask    func(context.Context) error // nil where the provider cannot know
	work   sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	round int        // an answer to an earlier question is no answer
	yes   bool
	never bool // it cannot be known here
}

func (c *Conversation) WatchReady(ctx context.Context) *ReadyWatch {
	w := &ReadyWatch{}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if c.terminal != nil {
		w.ask = func(ctx context.Context) error { return c.terminal.AwaitReady(ctx, c.session) }
	}
	w.again()
	return w
}

// again forgets the answer and asks anew.
func (w *ReadyWatch) again() {
	w.mu.Lock()
	w.yes = false
	w.round++
	round := w.round
	w.mu.Unlock()
	if w.blind() {
		return
	}
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		for {
			err := w.ask(w.ctx)
			if err == nil {
				break
			}
			if unsupported(err) {
				w.giveUp()
				return
			}
			// Not known: the screen decides, until the provider can say.
			if poll.Pause(w.ctx, askAgain) != nil || w.over(round) {
				return
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.yes = w.yes || round == w.round
	}()
}

// giveUp notes that the provider can never tell.
func (w *ReadyWatch) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.never = true
}

// blind reports whether nobody but the screen can tell.
func (w *ReadyWatch) blind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ask == nil || w.never
}

func (w *ReadyWatch) over(round int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return round != w.round
}

// Ready reports whether the program waits for its user.
func (w *ReadyWatch) Ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.yes
}

// Stop ends the watch and waits for its goroutines.
func (w *ReadyWatch) Stop() {
	w.cancel()
	w.work.Wait()
}
