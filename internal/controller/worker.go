package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/keeper"
)

// askLimit bounds one question to a provider. A place that does not answer is
// "could not ask".
const askLimit = 20 * time.Second

// forensicLines is how much of a dead agent's screen is kept with the event.
const forensicLines = 50

// worker keeps one agent. All that is done to the agent is done by its one
// goroutine, so nothing is ever started twice.
type worker struct {
	c    *Controller
	name string
	poke chan struct{} // room for one token: look again

	mu       sync.Mutex // guards the fields below
	subject  Subject    // as it was started
	next     Subject    // as it should be: another place or session, or the same
	wish     wish
	policy   Policy
	memory   memory
	status   keeper.AgentStatus
	changed  chan struct{} // closed, and replaced, when the status changes
	deferred string        // the drift that was last told as deferred
	gone     bool          // the workspace has no such agent: forget it when it has ended
	asked    uint64        // counts what was wanted of it
	answered uint64        // asked, as of the look that the status is from
}

func newWorker(c *Controller, m Member) *worker {
	w := &worker{c: c, name: m.Subject.Name(), poke: make(chan struct{}, 1), changed: make(chan struct{})}
	w.subject, w.next = m.Subject, m.Subject
	w.memory = c.state.agent(w.name)
	w.wishFor(m)
	w.status = keeper.AgentStatus{Wanted: w.wanted(), Name: w.name, Session: m.Subject.Session(), Provider: m.Subject.Provider(), Actual: keeper.Unknown, Why: "not looked at yet", Since: c.clock()}
	return w
}

func (w *worker) touch() {
	select {
	case w.poke <- struct{}{}:
	default: // a token lies there already
	}
}

// wishFor takes over what the workspace says; the user's order comes first.
// The caller holds the lock.
func (w *worker) wishFor(m Member) {
	w.next, w.policy, w.gone = m.Subject, m.Policy, m.Gone
	if samePlace(w.subject, w.next) {
		w.subject = w.next // what differs is drift, or a hint that holds from now on
	}
	w.wish = wish{run: m.Run, suspended: m.Suspended, why: m.Why, gently: m.Gently, waitsFor: w.wish.waitsFor}
	switch {
	case m.Gone || m.frozen || !m.Run && !m.Suspended: // the user cannot want what the workspace does not
	case w.memory.Order == keeper.OrderStop:
		w.wish.run, w.wish.why = false, "was stopped by hand"
	case w.memory.Order == keeper.OrderSuspend:
		w.wish.run, w.wish.suspended, w.wish.why = false, true, "is suspended by hand"
	case w.memory.Order == keeper.OrderStart || w.memory.Order == keeper.OrderResume:
		w.wish.run, w.wish.suspended = true, false
	}
	w.status.Wanted = w.wanted()
	w.asked++
	w.tellLocked()
}

// tellLocked wakes who waits for the status to change.
func (w *worker) tellLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// samePlace reports whether two subjects mean one session.
func samePlace(a, b Subject) bool {
	return a.Provider() == b.Provider() && a.Session() == b.Session()
}

// sub returns the agent as it runs, or should.
func (w *worker) sub() Subject {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.subject
}

// rules returns how the agent is kept.
func (w *worker) rules() Policy {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy
}

func (w *worker) wanted() string {
	switch {
	case w.wish.run:
		return keeper.Running
	case w.wish.suspended:
		return keeper.Suspended
	}
	return keeper.Stopped
}

// run reconciles until the context ends, or the agent is forgotten.
func (w *worker) run(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		case <-again.C:
		}
		v, forgotten := w.reconcile(ctx)
		if forgotten {
			w.c.forget(w)
			return
		}
		pause := w.rules().Patrol
		if !v.again.IsZero() {
			pause = min(pause, max(v.again.Sub(w.c.clock()), time.Millisecond))
		}
		again.Reset(pause)
	}
}

// maxDeeds bounds how much is done for one agent before its goroutine pauses:
// stop, start and a look at what came of it are three.
const maxDeeds = 8

// reconcile brings the agent to where it should be, one deed after the other.
func (w *worker) reconcile(ctx context.Context) (v verdict, forgotten bool) {
	for range maxDeeds {
		w.mu.Lock()
		asked := w.asked
		w.mu.Unlock()
		s := w.look(ctx)
		if ctx.Err() != nil {
			return verdict{do: rest}, false
		}
		w.observe(ctx, s)
		missing := w.c.missing(w.name) // takes the controller's lock, which comes first
		w.mu.Lock()
		w.wish.waitsFor = missing
		v = decide(w.wish, s, w.memory, w.policy, w.c.clock())
		over := w.gone && s.known && !s.running
		w.mu.Unlock()
		if cameUp := w.show(v, asked); cameUp {
			w.c.cameUp(w.name)
		}
		w.tellDeferred(s, v)
		if over {
			return v, true
		}
		if v.do == rest {
			return v, false
		}
		w.act(ctx, v)
		if ctx.Err() != nil {
			return v, false
		}
	}
	return verdict{do: rest, again: w.c.clock().Add(time.Second)}, false
}

// tellDeferred writes down, once, that a restart waits for a person.
func (w *worker) tellDeferred(s sight, v verdict) {
	what := ""
	if v.do == rest && len(s.drift) > 0 && s.held != "" {
		what = strings.Join(s.drift, ", ")
	}
	w.mu.Lock()
	told := w.deferred == what
	w.deferred = what
	w.mu.Unlock()
	if !told && what != "" {
		w.event(evDeferred, v.why, nil)
	}
}

// look asks all that the rule wants to know.
func (w *worker) look(ctx context.Context) sight {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	w.mu.Lock()
	sub, next, p, wish, draining := w.subject, w.next, w.policy, w.wish, w.memory.Drain != nil
	w.mu.Unlock()
	running, err := sub.Running(ctx)
	if err != nil {
		return sight{problem: err.Error()}
	}
	s := sight{known: true, running: running}
	if !running {
		return s
	}
	s.drift, err = drift(ctx, sub, next)
	if wish.run && (len(s.drift) > 0 || p.IdleTimeout > 0 || p.StallRestart) {
		var herr error
		s.held, herr = sub.Held(ctx)
		err = errors.Join(err, herr)
	}
	if draining {
		var derr error
		s.drained, derr = sub.Drained(ctx)
		err = errors.Join(err, derr)
	}
	if p.IdleTimeout > 0 || p.StallTimeout > 0 {
		s.activity, _ = sub.Activity(ctx) // zero: not known
	}
	if p.StallTimeout > 0 {
		s.ready = sub.Ready(ctx)
	}
	if err != nil {
		return sight{problem: err.Error()}
	}
	return s
}

// drift also sees an agent that should run in another place.
func drift(ctx context.Context, sub, next Subject) ([]string, error) {
	switch {
	case next.Provider() != sub.Provider():
		return []string{"provider"}, nil
	case next.Session() != sub.Session():
		return []string{"session name"}, nil
	}
	return next.Drift(ctx)
}

// observe notes what happened without us: an agent that came up, or went.
func (w *worker) observe(ctx context.Context, s sight) {
	now := w.c.clock()
	m, stable := w.recall(), w.rules().StableAfter
	switch {
	case !s.known:
		w.event(evUnknown, s.problem, nil)
	case s.running && !m.Up:
		m.Up = true
		if m.Started.IsZero() {
			m.Started = now
		}
		w.remember(m)
		w.event(evAdopted, "it was running", nil)
	case s.running && m.Failures > 0 && now.Sub(m.Started) >= stable:
		m.forgive()
		w.remember(m)
	case s.running && m.Stalled && s.activity.After(m.Active):
		m.Stalled, m.Active = false, s.activity
		w.remember(m)
	case !s.running && m.Up:
		w.died(ctx, m, now)
	case !s.running:
		w.mu.Lock()
		w.subject = w.next // nothing is left in the old place
		w.mu.Unlock()
	}
}

// died notes an end that nobody here asked for.
func (w *worker) died(ctx context.Context, m memory, now time.Time) {
	detail := w.forensics(ctx, &m)
	m.Up, m.Drain, m.Stalled = false, nil, false
	detail["ran_ms"] = now.Sub(m.Started).Milliseconds()
	asked := m.RestartAsked
	m.RestartAsked = false
	quarantined := false
	if !asked && w.wishes() {
		m.Restarts++
		quarantined = m.failed(ending(m.ExitCode), w.rules(), now, w.c.jitter())
	}
	m.Started = time.Time{}
	w.remember(m)
	w.event(evExited, "its command ended", detail)
	if quarantined {
		w.event(evQuarantined, "it failed too often", map[string]any{"until": m.QuarantinedUntil})
	}
}

// ending is a dead agent's end in short.
func ending(code *int) string {
	if code == nil {
		return "it ended"
	}
	return fmt.Sprintf("it ended with status %d", *code)
}

// forensics collects what is left of a dead agent.
func (w *worker) forensics(ctx context.Context, m *memory) map[string]any {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	sub := w.sub()
	detail := map[string]any{"session": sub.Session()}
	if exit, err := sub.Exit(ctx); err == nil && exit != nil {
		code := exit.Code
		m.ExitCode = &code
		detail["exit_code"] = exit.Code
		if exit.Signal != "" {
			detail["signal"] = exit.Signal
		}
	}
	if screen, err := sub.Peek(ctx, forensicLines); err == nil {
		detail["screen"] = screen
	}
	return detail
}

// remember keeps the memory, on disk before anything else.
func (w *worker) remember(m memory) {
	w.mu.Lock()
	w.memory = m
	w.mu.Unlock()
	if err := w.c.state.keep(w.name, &m); err != nil {
		w.c.trouble("keep the state of "+w.name, err)
	}
}

func (w *worker) event(kind, why string, detail map[string]any) {
	w.mu.Lock()
	repeated := kind == evUnknown && w.status.Actual == keeper.Unknown && w.status.Why == "could not ask: "+why
	w.mu.Unlock()
	if !repeated {
		w.c.journal.append(keeper.Event{Type: kind, Agent: w.name, Why: why, Detail: detail})
	}
}

// show makes the verdict what 'den ps' says, and reports whether the agent has
// just come up.
func (w *worker) show(v verdict, asked uint64) (cameUp bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &w.status
	cameUp = v.actual == keeper.Running && st.Actual != keeper.Running
	w.answered = asked
	if st.Actual != v.actual {
		st.Since = w.c.clock()
	}
	st.Actual, st.Why, st.Wanted = v.actual, v.why, w.wanted()
	st.Session, st.Provider = w.subject.Session(), w.subject.Provider()
	st.Restarts, st.ExitCode = w.memory.Restarts, nil
	if v.actual != keeper.Running {
		st.ExitCode = w.memory.ExitCode
	}
	w.tellLocked()
	return cameUp
}

// current returns the status and a channel that is closed when it changes.
func (w *worker) current() (keeper.AgentStatus, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, w.changed
}

// settled reports whether the agent is where it is wanted, or cannot be soon.
func (w *worker) settled() (s keeper.AgentStatus, yes bool, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s = w.status
	switch {
	case w.answered != w.asked: // it is from before the last word
	case s.Actual == keeper.Running:
		yes = s.Wanted == keeper.Running
	case s.Actual == keeper.Stopped:
		yes = s.Wanted != keeper.Running
	case s.Actual == keeper.Quarantined:
		yes = true
	}
	return s, yes, w.changed
}

// order is a user's word about the agent.
func (w *worker) order(order string) error {
	w.mu.Lock()
	m := w.memory
	gone := w.gone
	w.mu.Unlock()
	if gone {
		return fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", w.name)
	}
	switch order {
	case keeper.OrderStart, keeper.OrderResume:
		m.Order = order
		m.NotBefore = time.Time{}
	case keeper.OrderStop, keeper.OrderSuspend:
		m.Order = order
	case keeper.OrderRestart:
		m.RestartAsked = m.Up
		m.Order = keeper.OrderStart
		m.NotBefore = time.Time{}
	case keeper.OrderReset:
		m.forgive()
		m.Restarts = 0
	default:
		return fault.Errorf(fault.Usage, "order %q is not known", order)
	}
	w.remember(m)
	w.event(evOrdered, order, nil)
	w.c.reapply(w.name)
	return nil
}
