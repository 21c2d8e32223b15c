package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/wake"
)

// Config makes a Runner.
type Config struct {
	// Dir keeps the queue and the session's id over restarts. One process at a
	// time uses it.
	Dir    string
	Driver Driver
	// Options are what sessions are opened with; Resume is the Runner's.
	Options  Options
	Listener Listener

	// Silence is how long an agent may write nothing within a turn before the
	// turn is cancelled; 0 means ten minutes.
	Silence time.Duration
	// Grace is how long an agent may take to end a turn after it was asked to,
	// before it is killed; 0 means ten seconds.
	Grace time.Duration
	// Gate is asked before each turn: a reason keeps it from beginning, until
	// the time if that is not zero. Or nil.
	Gate    func() (why string, until time.Time)
	Breaker Breaker // zero means DefaultBreaker
	Clock   func() time.Time
}

// A Listener hears what happens, in order, one call at a time. Its methods
// return soon.
type Listener interface {
	// TurnBegan comes before what happens within the turn; attempt counts from
	// 1.
	TurnBegan(p Prompt, attempt int)
	Happened(p Prompt, e Event)
	// TurnEnded tells of the last attempt: the message is over. Whoever
	// delivers the answer calls Runner.Delivered afterwards; until then
	// Runner.Undelivered has it, also after a crash.
	TurnEnded(p Prompt, o Outcome)
	// Interrupted tells of an attempt that failed, or for which the agent could
	// not be started, and when den goes on.
	Interrupted(p Prompt, f *Failure, until time.Time)
	// GaveUp tells that the agent failed too often, at last by f: it is left
	// alone until then.
	GaveUp(f *Failure, until time.Time)
	// Exited tells that the agent's process has ended: 0 where den ended it.
	Exited(e Exit)
}

// Outcome is how a message ended.
type Outcome struct {
	Result   Result
	Failure  *Failure // or nil
	Denied   bool     // something that the agent wanted to do in the last attempt
	Duration time.Duration
	Attempts int
}

// Runner keeps one agent running and gives it its messages, one turn at a
// time, in order. Its methods may be called concurrently.
type Runner struct {
	config   Config
	queue    *outbox.Queue
	tools    toolLog
	activity *activity
	wake     wake.Signal // room for one token: something changed that the loop waits for

	mu       sync.Mutex // guards the fields below
	state    state
	stop     context.CancelFunc // nil while it is stopped
	stopped  chan struct{}      // closed when the loop has ended
	session  Session            // or nil
	turn     *openTurn          // or nil
	rested   time.Time          // when the last turn ended, or the session was opened
	question *conversation.Question
	failure  *Failure // the last, until a turn succeeds
	holdWhy  string   // why no turn begins, or ""
	hold     time.Time
	breaker  Breaker
	tries    int           // to open a session, since the last that succeeded
	changed  chan struct{} // closed, and nil, when the state changes; nil while nobody follows it
}

// New reads what an earlier Runner left in the directory. It starts nothing.
func New(c Config) (*Runner, error) {
	if c.Silence == 0 {
		c.Silence = 10 * time.Minute
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Breaker.Limit == 0 {
		c.Breaker = DefaultBreaker()
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fault.Errorf(fault.Storage, "make the agent's state directory: %w", err)
	}
	s, err := readState(c.Dir, c.Driver.Name())
	if err != nil {
		return nil, err
	}
	queue, err := outbox.Open(QueueDir(c.Dir))
	if err != nil {
		return nil, err
	}
	r := &Runner{
		config: c, queue: queue, activity: &activity{clock: c.Clock},
		wake: wake.New(), state: s, breaker: c.Breaker,
	}
	for _, damaged := range queue.Damaged() {
		c.Options.Log("message " + damaged + " cannot be read; it is left where it is")
	}
	return r, nil
}

// QueueDir is where a Runner with a directory keeps its messages.
func QueueDir(dir string) string { return filepath.Join(dir, "queue") }

// Start opens a session, or resumes the last one, and begins with what is
// queued. initial, if not empty, is queued as the first message. An agent that
// cannot be started is an error; a Runner that runs already is fault.Busy.
func (r *Runner) Start(ctx context.Context, initial string) error {
	r.mu.Lock()
	if r.stop != nil {
		r.mu.Unlock()
		return fault.Errorf(fault.Busy, "the agent runs already")
	}
	loopCtx, cancel := context.WithCancel(context.Background())
	r.stop, r.stopped = cancel, make(chan struct{})
	r.mu.Unlock()
	if initial != "" {
		if _, err := r.queue.AddFirst("", initial); err != nil {
			return r.abandonStart(err)
		}
	}
	if err := r.openSession(ctx); err != nil {
		return r.abandonStart(err)
	}
	go r.loop(loopCtx) // Stop waits for it
	return nil
}

func (r *Runner) abandonStart(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	close(r.stopped)
	r.stop = nil
	return err
}

// Stop ends the agent: its turn is cancelled, then its process is asked to end
// and killed, each bounded. What is queued stays; a turn that was cut off is
// told to the agent at the next start. Stopping again does nothing.
func (r *Runner) Stop() {
	r.mu.Lock()
	stop, stopped := r.stop, r.stopped
	r.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	<-stopped
	r.mu.Lock()
	r.stop = nil
	r.mu.Unlock()
}

// SendPrompt queues a message and returns; on disk it survives a crash. The
// same ID twice is one message.
func (r *Runner) SendPrompt(p Prompt) (conversation.Receipt, error) {
	m, err := r.add(p)
	if err != nil {
		return conversation.Receipt{ID: p.ID, Progress: conversation.Failed, Evidence: err.Error()}, err
	}
	r.wake.Set()
	return m.Receipt(), nil
}

func (r *Runner) add(p Prompt) (outbox.Message, error) {
	if p.Urgent {
		return r.queue.AddUrgent(p.ID, p.Text)
	}
	return r.queue.AddRouted(p.ID, p.Text, p.Route)
}

// Running reports whether the agent runs and takes messages.
func (r *Runner) Running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop != nil && r.session != nil
}

// SessionID is the vendor's id of the session, "" where there is none.
func (r *Runner) SessionID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.SessionID
}

// Turns counts the turns of all starts, and tells when the last one began.
func (r *Runner) Turns() (n int, last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Turns, r.state.LastTurn
}

// Pending counts the messages whose turns have not ended.
func (r *Runner) Pending() int { return len(r.unfinished()) }

// Pause begins no turn until Resume, also after a restart. A turn that runs is
// not touched.
func (r *Runner) Pause(why string) error { return r.setPaused(why) }

// Resume begins turns again, and tries an agent again that den had given up.
func (r *Runner) Resume() error {
	r.mu.Lock()
	r.breaker.Reset()
	r.hold, r.holdWhy = time.Time{}, ""
	r.mu.Unlock()
	return r.setPaused("")
}

func (r *Runner) setPaused(why string) error {
	err := r.change(func(s *state) { s.Paused = why })
	r.wake.Set()
	return err
}

// Paused is why no turn is begun, "" while turns are.
func (r *Runner) Paused() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Paused
}

// LastFailure is the last one, nil since a turn succeeded.
func (r *Runner) LastFailure() *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// CircuitOpen reports whether the agent failed so often that it is not
// restarted.
func (r *Runner) CircuitOpen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.breaker.Open(r.config.Clock())
}

// CircuitSince is when the agent was last given up, zero if it was not.
func (r *Runner) CircuitSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.breaker.Since()
}

// SetQuestion says which decision the agent waits for, nil for none.
func (r *Runner) SetQuestion(q *conversation.Question) {
	r.mu.Lock()
	r.question = q
	r.mu.Unlock()
	r.activity.touch() // the time that somebody took to decide is not the agent's silence
	r.tellState()
}

// Undelivered returns the messages that were answered and whose answers were
// not delivered, the oldest first.
func (r *Runner) Undelivered() []outbox.Message {
	var all []outbox.Message
	for _, m := range r.queue.List() {
		if m.Status == conversation.Answered && m.Route != "" && !m.Delivered {
			all = append(all, m)
		}
	}
	return all
}

// Message returns a message that was sent, with its answer if it has one.
func (r *Runner) Message(id string) (outbox.Message, error) { return r.queue.Get(id) }

// Delivered notes that an answer went where its route says.
func (r *Runner) Delivered(id string) error {
	return r.queue.Update(id, func(m *outbox.Message) { m.Delivered = true })
}

// change alters the state, on disk first.
func (r *Runner) change(alter func(*state)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.state
	alter(&next)
	if err := next.write(r.config.Dir); err != nil {
		return err
	}
	r.state = next
	return nil
}

// ask hands a question of the agent to whoever decides.
func (r *Runner) ask(ctx context.Context, q permission.Request) permission.Decision {
	defer r.activity.touch()
	return r.config.Options.Ask(ctx, q)
}

// Confirm tells what became of a message.
func (r *Runner) Confirm(_ context.Context, id string) (receipt conversation.Receipt, found bool, err error) {
	m, err := r.queue.Get(id)
	if fault.KindOf(err) == fault.NotFound {
		return conversation.Receipt{}, false, nil
	}
	return m.Receipt(), err == nil, err
}

// State is what the agent does now.
func (r *Runner) State(context.Context) (conversation.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stateLocked(), nil
}

func (r *Runner) stateLocked() conversation.State {
	s := conversation.State{Source: r.config.Driver.Name() + " protocol", Why: r.holdWhy}
	switch {
	case r.stop == nil:
		s.Activity = conversation.Gone
	case r.question != nil:
		s.Activity, s.Question = conversation.Asking, r.question
	case r.turn != nil:
		s.Activity, s.Since = conversation.Busy, r.turn.begun
	case r.failure != nil:
		s.Activity, s.Why = conversation.TurnFailed, r.failure.WithAdvice()
	case r.session == nil:
		s.Activity = conversation.Starting
	default:
		s.Activity, s.Since = conversation.Ready, r.rested
	}
	return s
}

// Follow calls tell now and whenever the state may have changed, until the
// context ends or tell fails. Changes that come meanwhile are told as one.
func (r *Runner) Follow(ctx context.Context, tell func() error) error {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if err := tell(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// tellState has those who follow the state look at it.
func (r *Runner) tellState() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// noteTools keeps which tools a message of the agent uses.
func (r *Runner) noteTools(p Prompt, m *Message) {
	for _, b := range m.Content {
		if b.Type == BlockToolUse {
			r.tools.add(p.ID, &conversation.ToolUse{Name: b.Name, Input: string(b.Input)})
		}
	}
}
