package supervisor

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
)

// Options are how an agent is supervised. A number that is 0 stands for its
// default.
type Options struct {
	Agent     string
	Judge     Judge         // Rules where it is nil
	Window    int           // steps that a judge sees; 20
	Every     int           // steps between two evaluations; 5
	Threshold int           // failed corrections in a row that call a person; 3
	Timeout   time.Duration // of one evaluation; a minute
	// File keeps what is known over a restart; "" for none.
	File string
	Log  func(line string) // for people, or nil

	// These are called from the goroutine of Run, one at a time. They may take
	// their time: only supervision waits for them. Never nil.
	//
	// Whisper has the agent told of a correction, whose id is to be given to
	// Heard when that happens. With an error it never happens.
	Whisper  func(id, message string, action Action) error
	Escalate func(message string)
	// Back is called when evaluation goes on after an escalation. Or nil.
	Back func()
}

// queueSize bounds the steps that wait for a slow judge. When it is full the
// oldest is dropped and counted: the newest tell most.
const queueSize = 100

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *int
		value int
	}{{&o.Window, 20}, {&o.Every, 5}, {&o.Threshold, 3}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if o.Judge == nil {
		o.Judge = Rules{}
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.Back == nil {
		o.Back = func() {}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

// A Supervisor watches one agent.
type Supervisor struct {
	options Options
	wake    wake.Signal // room for one token: there is something to do

	mu       sync.Mutex // guards the fields below
	queue    []Step     // at most queueSize
	returned bool       // a person spoke or resumed since Run looked
	// generation grows when a person speaks or resumes: a verdict on what was
	// before is void.
	generation int
	unheard    string // the id of the correction that the agent has not heard, or ""
	heard      bool   // it has, and Run has not looked
	// heardBehind is how many steps of the queue it made before that.
	heardBehind int
	status      Status

	known memory // of the goroutine of Run alone
}

// memory is what a supervisor knows of its agent. It is kept in a file.
type memory struct {
	V         int    `json:"v"`
	State     state  `json:"state"`
	Window    []Step `json:"window,omitempty"`
	Unjudged  int    `json:"unjudged,omitempty"`  // steps since the last evaluation
	Whispered string `json:"whispered,omitempty"` // since the agent was last OK, and heard
	Since     int    `json:"since,omitempty"`     // steps after that
	// Unheard is the correction that the agent was not told yet, or nil.
	Unheard *correction `json:"unheard,omitempty"`
}

type correction struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Status is what is shown of a supervisor.
type Status struct {
	State     State     `json:"state"`
	Failed    int       `json:"failed_corrections,omitempty"`
	Steps     int       `json:"steps"`                // that were observed
	Dropped   int       `json:"dropped,omitempty"`    // because the judge was slow
	Judged    int       `json:"judged"`               // evaluations that gave a verdict
	Errors    int       `json:"errors,omitempty"`     // evaluations that did not
	LastError string    `json:"last_error,omitempty"` // of the last evaluation, or ""
	Last      Verdict   `json:"last,omitzero"`
	LastAt    time.Time `json:"last_at,omitzero"`
}

// State is what a supervisor does. The values are sent: add, never rename.
type State string

// The states.
const (
	Watching State = "watching"
	Paused   State = "paused" // a person was called, and the agent has not come back
)

// New makes a supervisor, with what an earlier one left in the file. Run makes
// it work.
func New(o Options) *Supervisor {
	s := &Supervisor{options: o.withDefaults(), wake: wake.New()}
	s.known = s.load()
	if s.known.Unheard != nil {
		s.unheard = s.known.Unheard.ID
	}
	s.show(s.known.State)
	return s
}

// Observe hands over a step. It never blocks.
func (s *Supervisor) Observe(step Step) {
	s.mu.Lock()
	if len(s.queue) >= queueSize {
		s.dropLocked()
		s.status.Dropped++
	}
	s.queue = append(s.queue, step)
	s.status.Steps++
	s.mu.Unlock()
	s.wake.Set()
}

// dropLocked removes the oldest step from the queue.
func (s *Supervisor) dropLocked() {
	s.queue = s.queue[1:]
	s.heardBehind = max(0, s.heardBehind-1)
}

// Unheard is the id of the correction that the agent has not heard, "" for
// none.
func (s *Supervisor) Unheard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unheard
}

// Heard tells that the agent is being told of something. It reports whether
// that is the correction that it had not heard: only now can it help. It never
// blocks.
func (s *Supervisor) Heard(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" || id != s.unheard {
		return false
	}
	s.unheard, s.heard, s.heardBehind = "", true, len(s.queue)
	s.wake.Set()
	return true
}

// Returned tells that a person spoke to the agent, or that it was resumed. A
// verdict under way is void. Where evaluation was paused it goes on, and what
// the agent did before no longer counts. Where it was not, nothing is
// forgotten: people who speak often must not keep an agent from being judged.
// It never blocks.
func (s *Supervisor) Returned() {
	s.mu.Lock()
	if s.status.State == Paused {
		s.queue, s.heardBehind = nil, 0
	}
	s.returned = true
	s.generation++
	s.mu.Unlock()
	s.wake.Set()
}

// Status returns what is known now.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Run supervises until the context ends. It is called once.
func (s *Supervisor) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for ctx.Err() == nil && s.advance(ctx) {
		}
		s.save()
	}
}

// advance does one thing that waits, and reports whether there was one.
func (s *Supervisor) advance(ctx context.Context) bool {
	s.mu.Lock()
	back, told, have := s.returned, s.heard && s.heardBehind == 0, len(s.queue) > 0
	var step Step
	switch {
	case back:
		s.returned = false
	case told:
		s.heard = false
	case have:
		step = s.queue[0]
		s.dropLocked()
	}
	s.mu.Unlock()
	switch {
	case back:
		s.personSpoke()
	case told:
		s.correctionHeard()
	case have:
		s.add(ctx, step)
	default:
		return false
	}
	return true
}

// correctionHeard gives the agent as many steps as always to show that the
// correction helped.
func (s *Supervisor) correctionHeard() {
	k := &s.known
	if k.Unheard == nil {
		return
	}
	k.Whispered, k.Since, k.Unjudged, k.Unheard = k.Unheard.Text, 0, 0, nil
	k.State = heard(k.State)
}

// personSpoke goes on with evaluation, if it was paused.
func (s *Supervisor) personSpoke() {
	if !s.known.State.Paused {
		return
	}
	s.forget()
	next, e := returned(s.known.State)
	s.apply(next, e)
}

// forget leaves nothing but the state.
func (s *Supervisor) forget() { s.known = memory{State: s.known.State, Unheard: s.known.Unheard} }

func (s *Supervisor) add(ctx context.Context, step Step) {
	k := &s.known
	k.Window = append(k.Window, step)
	if over := len(k.Window) - s.options.Window; over > 0 {
		k.Window = slices.Clone(k.Window[over:])
	}
	k.Since++
	if k.Unjudged++; k.Unjudged >= s.options.Every {
		k.Unjudged = 0
		s.evaluate(ctx)
	}
}

// evaluate asks the judge. While a person is waited for, the free rules are
// asked instead, about what the agent did since.
func (s *Supervisor) evaluate(ctx context.Context) {
	judge := s.options.Judge
	if s.known.State.Paused {
		judge = Rules{}
	}
	s.mu.Lock()
	generation := s.generation
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	v, err := judge.Judge(limited, Window{Agent: s.options.Agent, Steps: slices.Clone(s.known.Window), Whispered: s.known.Whispered, Since: s.known.Since})
	if err == nil && !v.Action.valid() {
		err = fault.Errorf(fault.Protocol, "judge: '%s' is no verdict", v.Action)
	}
	if err != nil && err.Error() != s.Status().LastError {
		s.options.Log("the supervisor could not judge: " + err.Error())
	}
	acts, void := s.note(ctx, generation, v, err)
	if void {
		s.known.Unjudged = s.options.Every - 1 // the next step is judged
	}
	if !acts {
		return
	}
	next, e := next(s.known.State, v, s.options.Threshold)
	s.apply(next, e)
}

// note counts an evaluation, and reports whether its verdict is to be acted on,
// and whether it is void because a person spoke meanwhile.
func (s *Supervisor) note(ctx context.Context, generation int, v Verdict, err error) (acts, void bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return false, false // supervision ends
	case err != nil:
		s.status.Errors++
		s.status.LastError = err.Error()
		return false, false
	}
	s.status.LastError = ""
	s.status.Judged++
	s.status.Last, s.status.LastAt = v, time.Now()
	return generation == s.generation, generation != s.generation
}

// apply makes a state the current one, and does what follows.
func (s *Supervisor) apply(to state, e effect) {
	s.known.State = to
	s.show(to)
	switch {
	case e.Whisper.Action != "":
		s.whisper(e.Whisper)
	case e.Escalate != "":
		s.forget() // only what it does from now on can bring it back
		s.options.Escalate(e.Escalate)
	case e.Back:
		s.options.Back()
	}
	if to.Failed == 0 && !to.Paused {
		s.known.Whispered = ""
	}
}

// whisper has the agent told of a correction.
func (s *Supervisor) whisper(v Verdict) {
	c := &correction{ID: "whisper-" + rand.Text(), Text: v.Message}
	s.known.Unheard = c
	s.setUnheard(c.ID) // before it is sent: it may be heard at once
	if err := s.options.Whisper(c.ID, v.Message, v.Action); err != nil {
		s.options.Log(fmt.Sprintf("the agent is not told of a correction: %v", err))
		s.setUnheard("")
		s.known.Unheard, s.known.State = nil, notTold(s.known.State)
		s.show(s.known.State)
	}
}

func (s *Supervisor) setUnheard(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unheard = id
}

// show makes a state visible.
func (s *Supervisor) show(to state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.status.Failed = Watching, to.Failed
	if to.Paused {
		s.status.State = Paused
	}
}
