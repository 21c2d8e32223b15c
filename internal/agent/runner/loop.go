package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"den/internal/agent/conversation/outbox"
)

// openLimit bounds the start of an agent.
const openLimit = 2 * time.Minute

// maxAttempts of one message that fail for the same reason. A message that is
// given up is answered by the failure.
var maxAttempts = map[Class]int{Gone: 3, Silent: 2, Overload: 8, Quota: 50, Auth: 50, Billing: 50}

// loop gives the agent its messages until it is stopped.
func (r *Runner) loop(ctx context.Context) {
	defer func() {
		r.closeSession()
		close(r.stopped)
	}()
	for ctx.Err() == nil {
		r.clearIfAsked()
		m, ready := r.next()
		if !ready {
			r.await(ctx)
			continue
		}
		if err := r.openSession(ctx); err != nil {
			r.openFailed(ctx, m, err)
			continue
		}
		r.take(ctx, m)
	}
}

// next returns the message whose turn is to begin, if one may begin now.
func (r *Runner) next() (outbox.Message, bool) {
	todo := r.unfinished()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Clock()
	r.holdWhy = ""
	if len(todo) == 0 {
		return outbox.Message{}, false
	}
	switch why, until := r.gate(); {
	case r.state.Paused != "":
		r.holdWhy = r.state.Paused
	case why != "":
		r.holdWhy = why
		if until.After(r.hold) {
			r.hold = until
		}
	case now.Before(r.hold):
		r.holdWhy = "waits after a failure"
	case r.breaker.Open(now):
		r.holdWhy, r.hold = "it failed too often", r.breaker.Until()
	}
	return todo[0], r.holdWhy == ""
}

// gate tells what else keeps turns from beginning.
func (r *Runner) gate() (why string, until time.Time) {
	if r.config.Gate == nil {
		return "", time.Time{}
	}
	return r.config.Gate()
}

// unfinished lists the messages whose turns have not ended, the next first.
func (r *Runner) unfinished() []outbox.Message { return r.queue.Unanswered() }

// await returns when something may have changed.
func (r *Runner) await(ctx context.Context) {
	r.mu.Lock()
	session, until := r.session, r.hold
	r.mu.Unlock()
	var gone <-chan struct{}
	if session != nil {
		gone = session.Done()
	}
	var due <-chan time.Time
	if wait := until.Sub(r.config.Clock()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-due:
	case <-gone:
		r.sessionGone()
	}
}

// sessionGone notes that the agent's process ended outside a turn. It is
// started again for the next message.
func (r *Runner) sessionGone() {
	exit := r.closeSession()
	r.fail(&Failure{Class: Gone, Message: fmt.Sprintf("the agent ended with exit code %d", exit.Code)})
}

// openSession opens the session unless it is open. A Clear that came before the
// message whose turn is to begin holds for it.
func (r *Runner) openSession(ctx context.Context) error {
	r.clearIfAsked()
	r.mu.Lock()
	session, resume := r.session, r.state.SessionID
	allowed := session != nil || r.breaker.Try(r.config.Clock())
	r.mu.Unlock()
	if session != nil {
		return nil
	}
	if !allowed {
		return &Failure{Class: Gone, Message: "it failed too often"}
	}
	r.tellState()
	session, err := r.open(ctx, resume)
	var failure *Failure
	if resume != "" && errors.As(err, &failure) && failure.Class == NoSession {
		r.config.Options.Log(fmt.Sprintf("session %s cannot be resumed (%s): a new one is begun", resume, failure.Message))
		session, err = r.open(ctx, "")
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.session, r.tries, r.rested = session, 0, r.config.Clock()
	r.mu.Unlock()
	r.keepSessionID(session.ID())
	r.tellState()
	return nil
}

func (r *Runner) open(ctx context.Context, resume string) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	o := r.config.Options
	o.Resume, o.Ask = resume, r.ask
	o.Spawn = Watched(o.Spawn, r.activity.touch)
	return r.config.Driver.Open(ctx, o)
}

// openFailed notes that the agent could not be started for a message, which
// waits. Who listens is told as of a turn that failed: nobody else would be.
func (r *Runner) openFailed(ctx context.Context, m outbox.Message, err error) {
	if ctx.Err() != nil {
		return
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		failure = &Failure{Class: Bug, Message: err.Error()}
	}
	r.mu.Lock()
	r.tries++
	tries := r.tries
	r.mu.Unlock()
	until := r.holdFor(failure, tries)
	r.fail(failure)
	r.config.Options.Log("the agent could not be started: " + failure.Error())
	r.config.Listener.Interrupted(promptOf(m), failure, until)
}

// fail notes a failure; the breaker counts those that are not the vendor's.
func (r *Runner) fail(f *Failure) {
	r.mu.Lock()
	r.failure = f
	opened := false
	if f.Class == Gone || f.Class == Bug || f.Class == Silent {
		opened = r.breaker.Fail(r.config.Clock())
	} else {
		r.breaker.Undecided()
	}
	until := r.breaker.Until()
	r.mu.Unlock()
	if opened {
		r.config.Options.Log("the agent failed too often: it is not restarted for a while")
		r.config.Listener.GaveUp(f, until)
	}
	r.tellState()
}

// holdFor begins no turn until it makes sense to try again.
func (r *Runner) holdFor(f *Failure, attempt int) time.Time {
	wait := longestWait
	if f.Class.Retried() {
		wait = f.Wait(attempt)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = r.config.Clock().Add(wait)
	return r.hold
}

// closeSession ends the agent's process, if there is one, and tells.
func (r *Runner) closeSession() Exit {
	r.mu.Lock()
	session := r.session
	r.session = nil
	r.breaker.Undecided() // whoever knows better tells it afterwards
	r.mu.Unlock()
	if session == nil {
		return Exit{}
	}
	exit := session.Close()
	r.config.Listener.Exited(exit)
	r.tellState()
	return exit
}

// keepSessionID remembers the session for the next start.
func (r *Runner) keepSessionID(id string) {
	if id == "" || id == r.SessionID() {
		return
	}
	if err := r.change(func(s *state) { s.SessionID = id }); err != nil {
		r.config.Options.Log(err.Error())
	}
}

// Clear begins a new session: the agent forgets the conversation. A turn that
// runs keeps its session; who asks may be the agent itself, within its turn. What
// was asked for is done after it, also by the Runner of another process.
func (r *Runner) Clear() error {
	if err := r.change(func(s *state) { s.Clear = true }); err != nil {
		return err
	}
	r.wake.Set()
	return nil
}

// clearIfAsked gives up the session if somebody asked for that. It is called
// where no turn runs and none is about to: by the loop, and by Start before it.
func (r *Runner) clearIfAsked() {
	r.mu.Lock()
	asked := r.state.Clear
	r.mu.Unlock()
	if !asked {
		return
	}
	r.closeSession()
	if err := r.change(func(s *state) { s.SessionID, s.Clear = "", false }); err != nil {
		r.config.Options.Log("begin a new session: " + err.Error())
	}
}
