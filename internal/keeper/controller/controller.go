// Package controller reconciles a workspace's agents: it compares desired with
// observed state and acts on the difference.
//
// Each agent has one goroutine. It observes, decides by a pure function and
// acts, until nothing is left to do. Then it waits for an event: a session's
// end reported by a provider, a new configuration, a user's order, or a
// deadline. A periodic patrol reconciles as well. State that must survive a
// restart of the keeper is on disk.
package controller

import (
	"context"
	"errors"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
)

// Member is one agent of the plan.
type Member struct {
	Subject   Subject
	Policy    Policy
	Run       bool
	Suspended bool
	Why       string
	Gently    bool     // when it must end, it may finish first
	After     []string // keys of agents that must run before it starts
	Gone      bool     // the workspace has it no more

	frozen bool // the whole workspace is suspended
}

// maxStarting bounds how many agents start at the same time.
const maxStarting = 16

// Options are what a Controller works with.
type Options struct {
	State  string // the file of what must not be forgotten
	Events string // the file of what happened
	Clock  func() time.Time
	Jitter func() float64
	// Glance asks all places at once, and tells what is true of agents, by key;
	// of those that it can tell of. nil: each is always asked alone.
	Glance func(context.Context) map[string]Seen
}

// Controller keeps agents. Make one with Open, give it a plan with Apply and
// let it Run.
type Controller struct {
	state    *state
	journal  *events
	clock    func() time.Time
	jitter   func() float64
	starting chan struct{}
	glance   func(context.Context) map[string]Seen // or nil

	mu      sync.Mutex         // guards the fields below
	plan    map[string]Member  // by key
	workers map[string]*worker // by key
	ending  bool               // the workspace goes down: whatever the plan becomes, nobody is wanted
	slots   slots
	begin   func(*worker)
}

// Open reads what the keepers before knew.
func Open(o Options) (*Controller, error) {
	c := &Controller{
		clock: o.Clock, jitter: o.Jitter, glance: o.Glance, starting: make(chan struct{}, maxStarting),
		plan: map[string]Member{}, workers: map[string]*worker{}, slots: newSlots(),
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	if c.jitter == nil {
		c.jitter = jitter
	}
	var err error
	if c.state, err = openState(o.State); err != nil {
		return nil, err
	}
	c.journal, err = openEvents(o.Events, c.clock)
	return c, err
}

// Close lets go of the files.
func (c *Controller) Close() error { return c.journal.close() }

// Run keeps the agents until the context ends. They run on without it.
func (c *Controller) Run(ctx context.Context) {
	var workers sync.WaitGroup
	c.mu.Lock()
	c.begin = func(w *worker) { workers.Go(func() { w.run(ctx) }) }
	for _, w := range c.workers {
		c.begin(w)
	}
	c.mu.Unlock()
	workers.Go(func() { c.patrol(ctx) })
	<-ctx.Done()
	c.mu.Lock()
	c.begin = nil
	c.mu.Unlock()
	workers.Wait()
}

// Apply makes members the plan. Agents that are not in it any more are ended,
// and then forgotten.
func (c *Controller) Apply(members []Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]Member{}
	for _, m := range members {
		wanted[m.Subject.Key()] = m
	}
	for key, old := range c.plan {
		if _, ok := wanted[key]; !ok && c.workers[key] != nil {
			old.Run, old.Suspended, old.Gone, old.Gently = false, false, true, true
			old.Why = "the workspace has it no more"
			wanted[key] = old
		}
	}
	c.plan = wanted
	for _, m := range wanted {
		c.assignLocked(m)
	}
}

func (c *Controller) assignLocked(m Member) {
	if c.ending {
		m.Run, m.Suspended, m.Gently, m.Why = false, false, false, "the workspace goes down"
	}
	if c.state.suspended() && m.Run {
		m.Run, m.Suspended, m.frozen, m.Why = false, true, true, "the workspace is suspended"
	}
	key := m.Subject.Key()
	w := c.workers[key]
	if w == nil {
		w = newWorker(c, m)
		c.workers[key] = w
		if c.begin != nil {
			c.begin(w)
		}
		return
	}
	w.mu.Lock()
	w.setDesired(m)
	w.mu.Unlock()
	w.poke.Set()
}

// reapply holds one agent's plan against the user's newest word.
func (c *Controller) reapply(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.plan[key]; ok {
		c.assignLocked(m)
	}
}

// forget drops an agent that the workspace has no more and that has ended. It
// reports false, and does nothing, where the agent is wanted again meanwhile.
func (c *Controller) forget(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.retire() {
		return false
	}
	if c.workers[w.key] == w {
		delete(c.workers, w.key)
		delete(c.plan, w.key)
	}
	if err := c.state.keep(w.key, nil); err != nil {
		log.Printf("forget %s: %v", w.name(), err)
	}
	return true
}

// missing names an agent that must run before this one, or "".
func (c *Controller) missing(key string) string {
	c.mu.Lock()
	after := c.plan[key].After
	var deps []*worker
	for _, d := range after {
		if w := c.workers[d]; w != nil {
			deps = append(deps, w)
		}
	}
	c.mu.Unlock()
	for _, d := range deps {
		if s, _ := d.current(); !served(s.Actual) {
			return s.Name
		}
	}
	return ""
}

// served reports whether those who depend on an agent in that state may start:
// it runs, or has done its work.
func served(actual string) bool { return actual == keeper.Running || actual == keeper.Finished }

// cameUp wakes those who waited for an agent.
func (c *Controller) cameUp(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, m := range c.plan {
		if w := c.workers[other]; w != nil && slices.Contains(m.After, key) {
			w.poke.Set()
		}
	}
}

// Ended tells that a session's command ended, so that its agent is looked at.
func (c *Controller) Ended(session string) {
	for _, w := range c.all() {
		if s, _ := w.current(); s.Session == session {
			w.poke.Set()
		}
	}
}

// Refresh lets every agent be looked at.
func (c *Controller) Refresh() {
	for _, w := range c.all() {
		w.poke.Set()
	}
}

func (c *Controller) all() []*worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*worker, 0, len(c.workers))
	for _, w := range c.workers {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int { return strings.Compare(a.key, b.key) })
	return all
}

func (c *Controller) find(key string) (*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[key]; w != nil {
		return w, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", key), "'den ps' lists them")
}

// Keeps reports whether an agent is kept under that key: wanted, or not ended
// yet.
func (c *Controller) Keeps(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers[key] != nil
}

// Status tells of all agents, in the order of their names.
func (c *Controller) Status() []keeper.AgentStatus {
	all := []keeper.AgentStatus{}
	for _, w := range c.all() {
		s, _ := w.current()
		s.Step = w.startStep()
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b keeper.AgentStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Order gives one agent, or with an empty key the whole workspace, a user's
// word, which then holds. settled waits until the agent is where it is wanted,
// or cannot be.
func (c *Controller) Order(key, order string) (settled func(context.Context) error, err error) {
	if key == "" {
		return c.Await, c.orderAll(order)
	}
	w, err := c.find(key)
	if err != nil {
		return nil, err
	}
	return w.await, w.order(order)
}

func (c *Controller) orderAll(order string) error {
	switch order {
	case keeper.OrderSuspend, keeper.OrderResume:
	default:
		return fault.Errorf(fault.Usage, "the whole workspace can be suspended and resumed, not '%s'", order)
	}
	if err := c.state.suspend(order == keeper.OrderSuspend); err != nil {
		return err
	}
	c.Event(keeper.Event{Type: keeper.EventOrdered, Why: order})
	c.mu.Lock()
	for _, m := range c.plan {
		c.assignLocked(m)
	}
	c.mu.Unlock()
	return nil
}

// await returns when the agent is settled.
func (w *worker) await(ctx context.Context) error {
	for {
		s, yes, changed := w.converged()
		if yes {
			return notServed(s)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fault.Errorf(fault.Timeout, "agent '%s' is still %s: %s", s.Name, s.Actual, s.Why)
		}
	}
}

// notServed is what is wrong with an agent that is settled, nil for nothing.
func notServed(s keeper.AgentStatus) error {
	if s.Wanted != keeper.Running || served(s.Actual) {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.NotRunning, "agent '%s': %s%s", s.Name, s.Why, s.ItsLastLines("  ")), "'den agent logs %s' tells what happened", s.Name)
}

// Await returns when every agent is settled, all at one moment, with what is
// wrong with those that cannot be.
func (c *Controller) Await(ctx context.Context) error {
	for {
		var errs []error
		for _, w := range c.all() {
			errs = append(errs, w.await(ctx))
		}
		if ctx.Err() != nil {
			return errors.Join(errs...)
		}
		if settled, err := c.atOnce(); settled {
			return err
		}
	}
}

// atOnce reports whether all agents are settled, and what is wrong with them:
// one may have ended while another was waited for.
func (c *Controller) atOnce() (settled bool, err error) {
	settled = true
	var errs []error
	for _, w := range c.all() {
		s, yes, _ := w.converged()
		settled = settled && yes
		errs = append(errs, notServed(s))
	}
	return settled, errors.Join(errs...)
}

// End wants no agent any more, whatever the plan becomes. They are wanted again
// by the next keeper.
func (c *Controller) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for _, m := range c.plan {
		c.assignLocked(m)
	}
}

// Down ends all agents and returns when they are gone.
func (c *Controller) Down(ctx context.Context) error {
	c.End()
	return c.Await(ctx)
}

// Event writes down something that happened.
func (c *Controller) Event(e keeper.Event) { c.journal.append(e) }

// Events calls each with the events after seq of one agent, by its name, or of
// all, and with follow with those to come until the context ends.
func (c *Controller) Events(ctx context.Context, seq uint64, agent string, follow bool, each func(keeper.Event) error) error {
	from, key := cursor{seq: seq}, ""
	for _, w := range c.all() {
		if w.name() == agent {
			key = w.key // it may have had another name
		}
	}
	for {
		more, err := c.journal.since(&from, func(e keeper.Event) error {
			if agent != "" && !e.IsAbout(agent, key) {
				return nil
			}
			return each(e)
		})
		if err != nil || !follow {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}
