package turn

import (
	"context"
	"sync"

	"den/internal/agent/permission"
)

// maxOpen bounds the questions that wait at the same time. One more is denied.
const maxOpen = 64

// Questions waits for the decisions on what an agent asks, each in a goroutine
// of its own. Withdraw and WithdrawAll end them; Wait waits for the goroutines.
type Questions struct {
	ask func(context.Context, permission.Request) permission.Decision

	mu      sync.Mutex // guards the fields below
	open    map[string]*question
	waiting sync.WaitGroup
}

type question struct{ cancel context.CancelFunc }

// NewQuestions makes an empty set. ask is that of runner.Options.
func NewQuestions(ask func(context.Context, permission.Request) permission.Decision) *Questions {
	return &Questions{ask: ask, open: map[string]*question{}}
}

// Ask asks and calls answer with the decision, unless the question was
// withdrawn before.
func (q *Questions) Ask(id string, r permission.Request, answer func(permission.Decision)) {
	ctx, cancel := context.WithCancel(context.Background())
	asked := &question{cancel: cancel}
	q.mu.Lock()
	if old := q.open[id]; old != nil {
		old.cancel()
	} else if len(q.open) == maxOpen {
		q.mu.Unlock()
		cancel()
		answer(permission.Decision{Reason: "too many questions are open"})
		return
	}
	q.open[id] = asked
	q.waiting.Add(1)
	q.mu.Unlock()
	go func() { // ends with ask; Wait waits for it
		defer q.waiting.Done()
		defer cancel()
		decision := q.ask(ctx, r)
		if q.take(id, asked) {
			answer(decision)
		}
	}()
}

// take closes a question and reports whether it was open.
func (q *Questions) take(id string, asked *question) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[id] != asked {
		return false
	}
	delete(q.open, id)
	return true
}

// Withdraw ends the context of a question: nobody waits for its answer.
func (q *Questions) Withdraw(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if asked := q.open[id]; asked != nil {
		asked.cancel()
		delete(q.open, id)
	}
}

// WithdrawAll withdraws every open question.
func (q *Questions) WithdrawAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, asked := range q.open {
		asked.cancel()
		delete(q.open, id)
	}
}

// Wait returns when no question is being asked. Withdraw them before.
func (q *Questions) Wait() { q.waiting.Wait() }
