package tick

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/script"
	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
)

const (
	openLimit = 2 * time.Minute
	// grace is how long an agent may take to end a turn after it was asked to,
	// before it is killed.
	grace = 10 * time.Second
	// longestPause is how long an agent may pause by itself within a turn. A
	// longer pause is the plan's: others are read in it.
	longestPause = time.Minute
	// activeEvery is how often the loop hears that the agent writes something.
	activeEvery = time.Second
)

// mind is the agent: the runner's session.
type mind struct {
	tick *tick

	lastActive atomic.Int64 // nanoseconds since the tick began

	closing sync.WaitGroup // of sessions that are dropped

	mu      sync.Mutex     // guards the fields below
	session runner.Session // or nil
	running *running       // or nil: no turn runs
}

// running is a turn that runs.
type running struct {
	number int
	ctx    context.Context
	abort  context.CancelFunc
	ended  chan struct{} // closed when the turn has ended

	// Guarded by mind.mu.
	session     runner.Session  // that has the prompt; nil before it is handed over
	interrupted bool            // it was asked to end
	pause       *runner.Failure // why: a long pause; or nil
}

// open starts the runner.
func (m *mind) open(ctx context.Context, resume string) plan.Event {
	m.closing.Wait()
	m.close() // one that ended by itself is collected
	t := m.tick
	o, driver, err := t.runnerOptions()
	if err != nil {
		return plan.Event{Kind: plan.OpenFailed, Problem: err.Error(), Unusable: true}
	}
	o.Resume = resume
	o.Spawn = runner.Watched(o.Spawn, m.touch)
	limited, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	session, err := driver.Open(limited, o)
	if err != nil {
		return openFailed(err)
	}
	m.mu.Lock()
	m.session = session
	m.mu.Unlock()
	t.rest.Go(func() { // ends with the session, which close ends
		<-session.Done()
		if m.has(session) { // nobody ended it
			t.send(plan.Event{Kind: plan.SessionGone})
		}
	})
	return plan.Event{Kind: plan.Opened, Session: session.ID()}
}

// openFailed tells what another attempt could mend from what it could not.
func openFailed(err error) plan.Event {
	var f *runner.Failure
	kind := fault.KindOf(err)
	if !errors.As(err, &f) && (kind == fault.Usage || kind == fault.NotFound) {
		return plan.Event{Kind: plan.OpenFailed, Problem: withHint(err), Unusable: true}
	}
	return plan.Event{Kind: plan.OpenFailed, Failure: failureOf(err)}
}

func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return fmt.Sprintf("%v (%s)", err, hint)
	}
	return err.Error()
}

func failureOf(err error) *plan.Failure {
	var f *runner.Failure
	switch {
	case errors.As(err, &f):
		return &plan.Failure{Class: plan.Class(f.Class), Message: f.Message, RetryAfter: f.RetryAfter, Advice: f.Advice()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &plan.Failure{Class: plan.GoneClass, Message: "it was ended by den"}
	}
	return &plan.Failure{Class: plan.BugClass, Message: withHint(err)}
}

// touch notes that the agent writes something, whatever it is.
func (m *mind) touch() {
	now := time.Since(m.tick.started)
	last := m.lastActive.Load()
	if now-time.Duration(last) < activeEvery || !m.lastActive.CompareAndSwap(last, int64(now)) {
		return
	}
	if number := m.number(); number > 0 {
		m.tick.send(plan.Event{Kind: plan.Active, Turn: number})
	}
}

// number is that of the turn that runs, 0 for none.
func (m *mind) number() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return 0
	}
	return m.running.number
}

// worked notes that the agent uses a tool of the tick's, which not every runner
// tells. A script has what the last tool answered when it uses the next.
func (m *mind) worked() {
	number := m.number()
	if number == 0 {
		return
	}
	if m.tick.isScript() {
		m.tick.send(plan.Event{Kind: plan.Replied, Certain: true, Turn: number})
	}
	m.tick.send(plan.Event{Kind: plan.Worked, Turn: number})
}

// isScript reports whether the agent is a program that uses tools one by one,
// and of which nobody else tells.
func (t *tick) isScript() bool { return t.config.Runner == (script.Driver{}).Name() }

// begin notes that a turn runs. The loop calls it before anything can interrupt
// the turn, so no interrupt finds none.
func (m *mind) begin(number int) *running {
	r := &running{number: number, ended: make(chan struct{})}
	r.ctx, r.abort = context.WithCancel(context.Background())
	m.mu.Lock()
	m.running = r
	m.mu.Unlock()
	return r
}

// end notes that the turn is over, and returns why it was interrupted, if that
// was for a pause.
func (m *mind) end(r *running) *runner.Failure {
	close(r.ended)
	r.abort()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = nil
	return r.pause
}

// handOver returns the session that the turn's prompt goes to, nil if there is
// none any more, or the turn was interrupted before it could begin.
func (m *mind) handOver(r *running) runner.Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !r.interrupted {
		r.session = m.session
	}
	return r.session
}

// turn gives the agent a prompt and returns how the turn ended.
func (m *mind) turn(r *running, text string) plan.Event {
	number := r.number
	t := m.tick
	session := m.handOver(r)
	if session == nil {
		m.end(r)
		return plan.Event{Kind: plan.TurnFailed, Turn: number, Failure: &plan.Failure{Class: plan.GoneClass, Message: "it was ended before it began"}, Gone: !m.isOpen()}
	}
	t.transcript.prompt(session.ID(), text)
	var said replies
	result, err := session.Turn(r.ctx, text, func(e runner.Event) { m.happened(session, number, &said, e) })
	pause := m.end(r)
	e := plan.Event{Kind: plan.TurnEnded, Turn: number, Text: result.Text, CostUSD: result.Usage.CostUSD, Session: session.ID()}
	switch {
	case pause != nil && (err != nil || result.Cancelled):
		e.Kind, e.Failure = plan.TurnFailed, failureOf(pause)
	case err != nil:
		e.Kind, e.Failure = plan.TurnFailed, failureOf(err)
	}
	select {
	case <-session.Done():
		e.Gone = true
	default:
		e.Gone = err != nil && errors.Is(err, context.Canceled) // it can only be closed
	}
	if e.Gone {
		if exit := m.close(); e.Failure != nil && exit.Reason != "" {
			e.Failure.Message += ": " + exit.Reason
		}
	}
	t.transcript.turnEnded(session.ID(), result, e.Failure)
	return e
}

// happened passes on what happens within a turn.
func (m *mind) happened(session runner.Session, number int, said *replies, e runner.Event) {
	t := m.tick
	t.transcript.event(session.ID(), e)
	give := func(p plan.Event) {
		p.Turn, p.Session = number, session.ID()
		t.send(p)
	}
	switch e.Kind {
	case runner.Accepted:
		give(plan.Event{Kind: plan.Accepted})
	case runner.Spoke:
		if begins, certain := said.spoke(e); begins {
			give(plan.Event{Kind: plan.Replied, Certain: certain})
		}
		m.spoke(e.Message, give)
	case runner.ToolFinished:
		said.toolEnded(e.Result.ID)
	case runner.Used:
		if e.Usage.CostUSD > 0 {
			give(plan.Event{Kind: plan.Used, CostUSD: e.Usage.CostUSD})
		}
	case runner.Sized:
		give(plan.Event{Kind: plan.Used, Tokens: e.Size.Tokens, Window: e.Size.Window})
	case runner.Compacting:
		give(plan.Event{Kind: plan.Compacting})
	case runner.Retrying:
		if e.Failure.RetryAfter > longestPause {
			m.pauseFor(number, e.Failure)
		}
	case runner.Noted:
		t.o.Log.Info("the agent notes", "text", e.Text)
	}
}

func (m *mind) spoke(said *runner.Message, give func(plan.Event)) {
	for _, b := range said.Content {
		switch b.Type {
		case runner.BlockText:
			give(plan.Event{Kind: plan.Spoke, Text: b.Text})
		case runner.BlockThinking:
			give(plan.Event{Kind: plan.Spoke})
		case runner.BlockToolUse:
			m.tick.live(b.Name)
			give(plan.Event{Kind: plan.Worked})
		}
	}
}

// pauseFor ends a turn whose agent would wait for long.
func (m *mind) pauseFor(number int, f *runner.Failure) {
	m.mu.Lock()
	r := m.running
	first := r != nil && r.number == number && r.pause == nil
	if first {
		r.pause = f
	}
	m.mu.Unlock()
	if first {
		m.tick.work.Go(func() { m.interrupt(number) })
	}
}

// interrupt asks the agent to end its turn, and after a grace ends it.
func (m *mind) interrupt(number int) {
	m.mu.Lock()
	r := m.running
	if r == nil || r.number != number {
		m.mu.Unlock()
		return // it has ended
	}
	r.interrupted = true
	session := r.session
	m.mu.Unlock()
	if session == nil {
		return // it does not begin
	}
	ctx, cancel := context.WithTimeout(m.tick.ctx, grace)
	defer cancel()
	if err := session.Interrupt(ctx); err != nil {
		m.tick.o.Log.Warn("interrupt the agent", "error", err)
	} else {
		select {
		case <-r.ended:
			return
		case <-ctx.Done():
			m.tick.o.Log.Warn("the agent did not end its turn when it was asked to: its process is ended")
		}
	}
	r.abort()
}

// abort ends a turn that runs, at once.
func (m *mind) abort() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		m.running.abort()
	}
}

// drop ends the session, and does not wait for it.
func (m *mind) drop() { m.closing.Go(func() { m.close() }) }

func (m *mind) isOpen() bool { return !m.has(nil) }

func (m *mind) has(session runner.Session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session == session
}

// close ends the session, if there is one.
func (m *mind) close() runner.Exit {
	m.mu.Lock()
	session := m.session
	m.session = nil
	m.mu.Unlock()
	if session == nil {
		return runner.Exit{}
	}
	return session.Close()
}

// modelOf is the model that the backend is told to use, "" where it chooses.
func modelOf(c datarepo.Config) string {
	if _, chosen := c.Extra("model"); chosen || c.Runner == "claude" {
		return c.Model
	}
	return ""
}

// runnerOptions is how the agent's program is started.
func (t *tick) runnerOptions() (runner.Options, runner.Driver, error) {
	c := t.config
	driver, ok := t.o.Drivers[c.Runner]
	if !ok {
		return runner.Options{}, nil, fault.Errorf(fault.Usage, "system/agent_config.json names the runner '%s', which den does not have", c.Runner)
	}
	prompt, err := t.o.Repo.Prompt()
	if err != nil {
		return runner.Options{}, nil, err
	}
	ask, err := t.policy()
	if err != nil {
		return runner.Options{}, nil, err
	}
	o := runner.Options{
		Spawn: t.o.Spawn, Command: c.Command, Dir: t.o.Repo.Path(), Env: t.mindEnv(), SystemPrompt: prompt, OnlyPrompt: true, KeepWhole: true,
		Servers: t.tools.servers(), Without: []permission.Kind{permission.Execute, permission.Fetch, permission.Question},
		Ask: ask, Log: func(line string) { t.o.Log.Info("runner", "line", line) },
	}
	o.Model = modelOf(c)
	if c.Runner == "claude" {
		o.Extra = map[string]string{"setting_sources": "project"}
		o.Env["MAX_THINKING_TOKENS"] = fmt.Sprint(c.MaxThinkingTokens)
	}
	return o, driver, nil
}

// replies tells the replies of the model within a turn apart. A reply is what
// the model says, thinks and uses until it waits for the answers of the tools
// that it used. Some backends number them; of the others it is known only that a
// word which follows the end of all tools is not of the reply that used them:
// tools of one reply may also be run, and told, one after the other.
//
// It belongs to who reads the backend's output.
type replies struct {
	begun    bool            // there was a reply
	number   string          // of the last one, as the backend gave it; or ""
	open     map[string]bool // tools that are used
	finished bool            // one has ended since the last reply began
}

// spoke takes a message. It reports whether a reply begins with it, as far as
// that can be told, and whether that is certain.
func (r *replies) spoke(e runner.Event) (begins, certain bool) {
	words := false
	var uses []string
	for _, b := range e.Message.Content {
		if b.Type == runner.BlockToolUse {
			uses = append(uses, b.ID)
		} else {
			words = true
		}
	}
	switch {
	case e.Reply != "":
		begins = e.Reply != r.number
		certain = begins
		r.number = e.Reply
	case !r.begun:
		begins, certain = true, true // it replies to the prompt
	default:
		begins = r.finished
		certain = r.finished && words && len(r.open) == 0
	}
	if begins {
		r.begun, r.finished = true, false
	}
	if r.open == nil {
		r.open = map[string]bool{}
	}
	for _, id := range uses {
		r.open[id] = true
	}
	return begins, certain
}

// toolEnded takes the end of a tool's use.
func (r *replies) toolEnded(id string) {
	delete(r.open, id)
	r.finished = true
}
