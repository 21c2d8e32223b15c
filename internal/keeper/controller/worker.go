package controller

import (
	"context"
	"log"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/keeper"
	"den/internal/place/provider"
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
	key  string
	poke wake.Signal // room for one token: look again

	mu       sync.Mutex // guards the fields below
	subject  Subject    // as it was started
	next     Subject    // as it should be: another place or session, or the same
	desired  desired
	policy   Policy
	memory   memory
	status   keeper.AgentStatus
	changed  chan struct{} // closed, and replaced, when the status changes
	deferred string        // the drift that was last told as deferred
	// cancelStart ends the start that is under way; nil while none is.
	cancelStart context.CancelCauseFunc
	startedNow  Subject   // as that start began with it
	gone        bool      // the workspace has no such agent: forget it when it has ended
	retired     bool      // it was forgotten: nobody looks at it any more
	asked       uint64    // counts what was wanted of it
	answered    uint64    // asked, as of the look that the status is from
	fineAt      time.Time // when a glance last found it as it should be
}

func newWorker(c *Controller, m Member) *worker {
	w := &worker{c: c, key: m.Subject.Key(), poke: wake.New(), changed: make(chan struct{})}
	w.subject, w.next = m.Subject, m.Subject
	w.memory = c.state.agent(w.key)
	if name := m.Subject.Name(); w.memory.Name != name {
		w.memory.moved(name)
	}
	c.state.note(w.key, w.memory)
	w.setDesired(m)
	w.status = keeper.AgentStatus{Wanted: w.wanted(), Name: m.Subject.Name(), Session: m.Subject.Session(), Provider: m.Subject.Provider(), Actual: keeper.Unknown, Why: "not looked at yet", Since: c.clock()}
	return w
}

// setDesired takes over what the workspace says; the user's order comes first.
// The caller holds the lock.
func (w *worker) setDesired(m Member) {
	w.next, w.policy, w.gone = m.Subject, m.Policy, m.Gone
	w.memory.Name, w.status.Name = m.Subject.Name(), m.Subject.Name()
	if samePlace(w.subject, w.next) {
		w.subject = w.next // what differs is drift, or a hint that holds from now on
	}
	w.desired = desired{run: m.Run, suspended: m.Suspended, why: m.Why, gently: m.Gently, waitsFor: w.desired.waitsFor}
	switch {
	case m.Gone || m.frozen || !m.Run && !m.Suspended: // the user cannot want what the workspace does not
	case w.memory.Order == keeper.OrderStop:
		w.desired.run, w.desired.why = false, "was stopped by hand"
	case w.memory.Order == keeper.OrderSuspend:
		w.desired.run, w.desired.suspended, w.desired.why = false, true, "is suspended by hand"
	case w.memory.Order == keeper.OrderStart || w.memory.Order == keeper.OrderResume:
		w.desired.run, w.desired.suspended = true, false
	}
	if !w.desired.run {
		w.cancelStartLocked(errUnwanted)
	}
	w.status.Wanted = w.wanted()
	w.asked++
	w.tellLocked()
}

// retire ends the worker of an agent that is gone, and wakes those who wait for
// it. It reports false where the workspace has the agent again.
func (w *worker) retire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		return false
	}
	w.retired = true
	w.tellLocked()
	return true
}

// tellLocked wakes who waits for the status to change.
func (w *worker) tellLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// samePlace reports whether two subjects mean one session.
func samePlace(a, b Subject) bool {
	return a.Place() == b.Place() && a.Session() == b.Session()
}

// name is what people call the agent now.
func (w *worker) name() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next.Name()
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
	case w.desired.run:
		return keeper.Running
	case w.desired.suspended:
		return keeper.Suspended
	}
	return keeper.Stopped
}

// run reconciles until the context ends, or the agent is forgotten.
func (w *worker) run(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	patrol := false // the timer is that of the patrol, and no deadline
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		case <-again.C:
			if patrol && w.isFine() {
				again.Reset(w.rules().Patrol)
				continue
			}
		}
		d, forgotten := w.reconcile(ctx)
		if forgotten && w.c.forget(w) {
			return
		}
		pause := w.rules().Patrol
		patrol = true
		if !d.again.IsZero() && d.again.Sub(w.c.clock()) < pause {
			pause, patrol = max(d.again.Sub(w.c.clock()), time.Millisecond), false
		}
		again.Reset(pause)
	}
}

// maxActions bounds how much is done for one agent before its goroutine pauses:
// stop, start and a look at what came of it are three.
const maxActions = 8

// reconcile brings the agent to where it should be, one action after the other.
func (w *worker) reconcile(ctx context.Context) (d decision, forgotten bool) {
	for range maxActions {
		w.mu.Lock()
		asked := w.asked
		w.mu.Unlock()
		s := w.observe(ctx)
		if ctx.Err() != nil {
			return decision{do: rest}, false
		}
		w.noteChanges(ctx, s)
		s.queued = w.queuesFor(s)
		missing := w.c.missing(w.key) // takes the controller's lock, which comes first
		w.mu.Lock()
		w.desired.waitsFor = missing
		d = decide(w.desired, s, w.memory, w.policy, w.c.clock())
		over := w.gone && s.known && !s.running && d.do == rest
		w.mu.Unlock()
		if cameUp := w.show(d, asked); cameUp {
			w.c.cameUp(w.key)
		}
		w.tellDeferred(s, d)
		if over {
			return d, true
		}
		if d.do == rest {
			return d, false
		}
		w.act(ctx, d)
		if ctx.Err() != nil {
			return d, false
		}
	}
	return decision{do: rest, again: w.c.clock().Add(time.Second)}, false
}

// tellDeferred writes down, once, that a restart waits for a person.
func (w *worker) tellDeferred(s observed, d decision) {
	what := ""
	if d.do == rest && len(s.drift) > 0 && s.held != "" {
		what = strings.Join(s.drift, ", ")
	}
	w.mu.Lock()
	told := w.deferred == what
	w.deferred = what
	w.mu.Unlock()
	if !told && what != "" {
		w.event(keeper.EventDeferred, d.why, nil)
	}
}

// remember changes what is known of the agent, and keeps it on disk before
// anything else. A user's order and the worker may both have something to
// say: each changes only its own part.
func (w *worker) remember(change func(*memory)) memory {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.memory)
	if err := w.c.state.keep(w.key, &w.memory); err != nil {
		log.Printf("keep the state of %s: %v", w.next.Name(), err)
	}
	return w.memory
}

func (w *worker) event(kind, why string, detail map[string]any) {
	w.mu.Lock()
	e := keeper.Event{Type: kind, Agent: w.next.Name(), Key: w.key, Why: why, Detail: detail}
	repeated := kind == keeper.EventUnknown && w.status.Actual == keeper.Unknown && w.status.Why == "could not ask: "+why
	w.mu.Unlock()
	if !repeated {
		w.c.journal.append(e)
	}
}

// show makes the decision what 'den ps' says, and reports whether the agent has
// just come up.
func (w *worker) show(d decision, asked uint64) (cameUp bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &w.status
	cameUp = served(d.actual) && !served(st.Actual)
	w.answered = asked
	if st.Actual != d.actual {
		st.Since = w.c.clock()
	}
	st.Actual, st.Why, st.Wanted = d.actual, d.why, w.wanted()
	st.Session, st.Provider = w.subject.Session(), w.subject.Provider()
	st.Restarts, st.ExitCode, st.LastOutput = w.memory.Restarts, nil, ""
	if d.actual != keeper.Running {
		st.ExitCode, st.LastOutput = w.memory.ExitCode, w.memory.LastOutput
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

// converged reports whether the agent is where it is wanted, or cannot be soon.
func (w *worker) converged() (s keeper.AgentStatus, yes bool, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s = w.status
	switch {
	case w.retired:
		yes = true
	case w.answered != w.asked: // it is from before the last word
	case s.Actual == keeper.Running:
		yes = s.Wanted == keeper.Running
	case s.Actual == keeper.Stopped:
		yes = s.Wanted != keeper.Running
	case s.Actual == keeper.Quarantined, s.Actual == keeper.Finished:
		yes = true
	}
	return s, yes, w.changed
}

// orders are what a user's words change.
var orders = map[string]func(*memory){
	keeper.OrderStart: func(m *memory) {
		m.Order, m.NotBefore, m.Finished = keeper.OrderStart, time.Time{}, ""
	},
	keeper.OrderResume: func(m *memory) {
		m.Order, m.NotBefore, m.Finished = keeper.OrderResume, time.Time{}, ""
	},
	keeper.OrderStop:    func(m *memory) { m.Order = keeper.OrderStop },
	keeper.OrderSuspend: func(m *memory) { m.Order = keeper.OrderSuspend },
	keeper.OrderRestart: func(m *memory) {
		m.RestartAsked, m.Order, m.NotBefore, m.Finished = m.Up, keeper.OrderStart, time.Time{}, ""
	},
	keeper.OrderReset: func(m *memory) {
		m.forgive()
		m.Restarts = 0
	},
}

// order is a user's word about the agent.
func (w *worker) order(order string) error {
	change, ok := orders[order]
	if !ok {
		return fault.Errorf(fault.Usage, "order %q is not known", order)
	}
	w.mu.Lock()
	gone := w.gone
	if order == keeper.OrderRestart {
		w.cancelStartLocked(errRestarted)
	}
	w.mu.Unlock()
	if gone {
		return fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", w.name())
	}
	w.remember(change)
	w.event(keeper.EventOrdered, order, nil)
	w.c.reapply(w.key)
	return nil
}

// Subject is one agent as the controller handles it. The controller calls one
// method of a subject at a time, but for Peek, and none of them may act on
// another agent.
type Subject interface {
	// Key is what the state knows the agent by, from Controller.Keys; unlike
	// the name it stays when the agent moves to another directory.
	Key() string
	Name() string     // qualified, for people
	Session() string  // its session's name
	Provider() string // the kind of provider where it runs, for people
	// Place differs where a session of the same name is another session:
	// nothing of it is found there that was started elsewhere.
	Place() string
	// Identity differs where anything of the configuration does: one that
	// failed and was changed is another one.
	Identity() string

	// Running reports whether the agent runs. "Could not ask" is an error.
	Running(ctx context.Context) (bool, error)
	// Start brings the agent up, whole, and leaves its fingerprint with it. A
	// session in which the agent does not run any more makes room. A start that
	// was cut off is finished, or begun anew. It gives the slot back while it
	// only waits for its place to be made ready.
	Start(ctx context.Context, slot *Slot) error
	// StartUnfinished reports whether the running agent's start was cut off.
	StartUnfinished(ctx context.Context) (bool, error)
	// Stop ends it with all its processes.
	Stop(ctx context.Context) error
	// Interrupt is Ctrl-C.
	Interrupt(ctx context.Context) error

	// Drift returns what makes the running agent differ from what it should
	// be, nil for nothing. Hints that only the keeper reads are no drift.
	Drift(ctx context.Context) ([]string, error)
	// Held says why the agent must be left alone now: a person is at its
	// terminal, or it asks one for a decision. "" for no reason.
	Held(ctx context.Context) (string, error)
	// Drain asks the agent to finish its work, Undrain takes that back, and
	// Drained reports whether it has.
	Drain(ctx context.Context, why string) error
	Undrain(ctx context.Context) error
	Drained(ctx context.Context) (bool, error)

	// LastWrite is when it last wrote something; zero if that is not known.
	LastWrite(ctx context.Context) (time.Time, error)
	// Ready reports whether it waits for input; false if that is not known.
	Ready(ctx context.Context) bool
	// Exit is how it ended, nil if that is not known.
	Exit(ctx context.Context) (*provider.Exit, error)
	// LastText is the end of its text, for records: without its secrets.
	LastText(ctx context.Context, lines int) (string, error)
}

// Seer is a subject whose end is news to people, unless they wanted it: that an
// interrupt ended it is no failure then.
type Seer interface {
	// Seen notes that somebody knows how the agent is.
	Seen(now time.Time) error
}

// Reporter is a subject that can tell how its last start went, step by step.
type Reporter interface {
	// StartStep returns the step that is under way, "" for none.
	StartStep() string
	// StartReport returns what is worth knowing, nil for nothing.
	StartReport() map[string]string
}
