package screen

import (
	"context"
	"sync"
	"time"

	"den/internal/place/provider"
)

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
	if r, ok := c.provider.(provider.Readier); ok {
		w.ask = func(ctx context.Context) error { return r.AwaitReady(ctx, c.session) }
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
			select {
			case <-w.ctx.Done():
				return
			case <-time.After(askAgain):
			}
			if w.over(round) {
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
