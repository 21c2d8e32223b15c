// Package turn has what the turns of protocol drivers share: a relay of
// messages to the turn that waits for them, and questions that wait for a
// decision beside it.
package turn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"den/internal/agent/runner"
)

// A Relay passes what an agent sends from the goroutine that reads it to the
// turn that is running. Nothing is queued: the reader waits until the turn has
// taken a message, so the agent is read no faster than it is listened to.
type Relay[M any] struct {
	mu      sync.Mutex // guards the fields below
	current *Turn[M]   // or nil
	ended   bool
}

// A Turn takes messages until it is ended.
type Turn[M any] struct {
	relay    *Relay[M]
	messages chan M        // unbuffered
	name     string        // set by Begun
	begun    chan struct{} // closed by Begun
	over     chan struct{} // closed by End
	eof      chan struct{} // closed by Close, when nothing comes any more
}

// Begin starts a turn. It fails if one is running, or if the agent is gone.
func (r *Relay[M]) Begin() (*Turn[M], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		return nil, errors.New("begin a turn: another one is running")
	}
	t := &Turn[M]{relay: r, messages: make(chan M), begun: make(chan struct{}), over: make(chan struct{}), eof: make(chan struct{})}
	if r.ended {
		close(t.eof)
	}
	r.current = t
	return t, nil
}

// Begun returns the running turn once it has begun, or nil where none runs.
func (r *Relay[M]) Begun(ctx context.Context) (*Turn[M], error) {
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil {
		return nil, nil
	}
	select {
	case <-t.begun:
		return t, nil
	case <-t.over:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Pass hands a message to the running turn and reports whether it took it.
// One goroutine calls Pass, and then Close.
func (r *Relay[M]) Pass(m M) bool {
	r.mu.Lock()
	t := r.current
	r.mu.Unlock()
	if t == nil {
		return false
	}
	select {
	case t.messages <- m:
		return true
	case <-t.over:
		return false
	}
}

// Close tells the turn that nothing comes any more.
func (r *Relay[M]) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.current != nil {
		close(r.current.eof)
	}
	r.ended = true
}

// Begun notes, once, that the agent has the turn, and what it calls it: from now
// on it can be interrupted.
func (t *Turn[M]) Begun(name string) {
	t.name = name
	close(t.begun)
}

// Name is what the agent calls a turn that has begun.
func (t *Turn[M]) Name() string { return t.name }

// Next returns the next message; io.EOF is the end of the agent's output.
func (t *Turn[M]) Next(ctx context.Context) (M, error) {
	var none M
	if err := ctx.Err(); err != nil {
		return none, err
	}
	select {
	case m := <-t.messages:
		return m, nil
	case <-t.eof:
		return none, io.EOF
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// End lets the next turn begin. Messages that come meanwhile are not for it.
func (t *Turn[M]) End() {
	close(t.over)
	t.relay.mu.Lock()
	defer t.relay.mu.Unlock()
	t.relay.current = nil
}

// Gone is the failure of a turn whose process has ended. Why it ended is told
// by the Exit of its session.
func Gone(exit runner.Exit) *runner.Failure {
	return &runner.Failure{Class: runner.Gone, Message: fmt.Sprintf("the agent ended with exit code %d", exit.Code)}
}

// WhyNot is the error of a turn that cannot go on. Where the agent's output has
// ended, or its input is closed, so must the agent: end ends it.
func WhyNot(err error, end func() runner.Exit) error {
	var failure *runner.Failure
	if errors.Is(err, io.EOF) || errors.As(err, &failure) {
		return Gone(end())
	}
	return err
}

// OpenError is the error of a session that could not be opened, and was closed:
// of an agent that is gone it tells why.
func OpenError(err error, exit runner.Exit) error {
	var f *runner.Failure
	if errors.As(err, &f) && f.Class == runner.Gone && exit.Reason != "" {
		f.Message += ": " + exit.Reason
	}
	return err
}
