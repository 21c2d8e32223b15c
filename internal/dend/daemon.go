package dend

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"den/internal/agent"
	"den/internal/controller"
	"den/internal/keeper"
	"den/internal/session"
	"den/internal/workspace"
)

// daemon is one keeper.
type daemon struct {
	place      keeper.Place
	home       session.Home
	den        string
	getenv     func(string) string
	environ    []string
	controller *controller.Controller
	places     *places
	started    time.Time

	mu        sync.Mutex // guards the fields below
	workspace *workspace.Workspace
	socket    string            // of the container engine, or ""
	problem   error             // why the newest file is not in force, or nil
	counts    map[string]int    // pools and how many of each are wanted
	members   map[string]member // all agents, by name
	leaving   map[string]member // those that are not wanted any more; they may still finish
	queues    map[string]*agent.Queue
	changed   chan struct{} // closed, and replaced, when members changes
}

// member is one agent with its place.
type member struct {
	*agent.Managed
	kind string
}

// Session and Provider make a member a controller's subject.
func (m member) Session() string  { return m.SessionName() }
func (m member) Provider() string { return m.kind }

// Running is IsRunning.
func (m member) Running(ctx context.Context) (bool, error) { return m.IsRunning(ctx) }

// StartReport tells of the steps of the last start that did not simply work.
func (m member) StartReport() map[string]string {
	report := map[string]string{}
	for _, s := range m.LastStart() {
		if s.Outcome != agent.Done && s.Outcome != agent.Skipped {
			report[s.Name] = strings.TrimSpace(string(s.Outcome) + " " + s.Output)
		}
	}
	return report
}

var (
	_ controller.Subject  = member{}
	_ controller.Reporter = member{}
)

// serve keeps the agents and answers until it is told to end.
func (d *daemon) serve(announce func(error)) error {
	ctx, stop := untilSignalled()
	defer stop()
	ctx, down := context.WithCancelCause(ctx)
	defer down(nil)
	socket, err := d.place.Socket(d.getenv)
	if err != nil {
		return err
	}
	l, err := keeper.Listen(socket)
	if err != nil {
		return err
	}
	if err := d.place.Save(keeper.Record{PID: os.Getpid(), Den: Version, Socket: socket, Started: d.started}); err != nil {
		return errors.Join(err, l.Close())
	}
	d.controller.Event(keeper.Event{Type: keeper.EventKeeperStarted, Why: "den " + Version})
	announce(nil)

	var loops sync.WaitGroup
	loops.Go(func() { d.places.serve(ctx) })
	loops.Go(func() { d.sweep(ctx) })
	loops.Go(func() { d.controller.Run(ctx) })
	loops.Go(func() { d.scale(ctx) })
	loops.Go(func() { d.deliver(ctx) })
	loops.Go(func() { d.watch(ctx) })
	loops.Go(func() { d.places.tidy(ctx) })
	loops.Go(func() { keeper.Serve(ctx, l, &handler{d: d, down: down}, Version) })
	loops.Wait()
	d.controller.Event(keeper.Event{Type: keeper.EventKeeperStopped, Why: fmt.Sprint(context.Cause(ctx))})
	return nil
}

// load reads the workspace and makes it the plan. On an error the old one
// stays in force.
func (d *daemon) load() error {
	ws, err := workspace.Load(d.place.Config)
	if err == nil {
		err = d.apply(ws)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.workspace != nil && fmt.Sprint(d.problem) != err.Error() {
		d.controller.Event(keeper.Event{Type: keeper.EventRefused, Why: err.Error()})
	}
	d.problem = err
	return err
}

// apply makes ws what is wanted.
func (d *daemon) apply(ws *workspace.Workspace) error {
	d.mu.Lock()
	counts := maps.Clone(d.counts)
	first := d.workspace == nil
	d.socket = ws.Session.Socket
	d.mu.Unlock()
	if counts == nil {
		counts = map[string]int{}
	}
	plan, members, err := d.plan(ws, counts)
	if err != nil {
		return err
	}
	for _, w := range ws.Warnings {
		log.Printf("warning: %s", w)
	}
	d.mu.Lock()
	for name, m := range d.members {
		if _, stays := members[name]; !stays {
			d.leaving[name] = m
		}
	}
	for name := range members {
		delete(d.leaving, name)
	}
	d.workspace, d.counts, d.members = ws, counts, members
	if d.changed != nil {
		close(d.changed)
	}
	d.changed = make(chan struct{})
	d.mu.Unlock()
	d.controller.Apply(plan)
	if !first {
		d.controller.Event(keeper.Event{Type: keeper.EventReloaded, Detail: map[string]any{"agents": len(plan)}})
	}
	return nil
}

// plan makes members of the workspace's agents. All of it works, or none.
func (d *daemon) plan(ws *workspace.Workspace, counts map[string]int) ([]controller.Member, map[string]member, error) {
	var plan []controller.Member
	members := map[string]member{}
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		names := []string{ag.Name}
		if ag.Pool != nil {
			n, ok := counts[ag.Name]
			if !ok {
				n = ag.Pool.Min
			}
			n = min(max(n, ag.Pool.Min), ag.Pool.Max)
			counts[ag.Name] = n
			names = ag.Members(n)
		}
		for _, name := range names {
			m, err := d.member(ws, ag, name)
			if err != nil {
				return nil, nil, err
			}
			members[name] = m
			plan = append(plan, controller.Member{
				Subject: m, Policy: policy(ws, ag), Gently: true, After: ag.DependsOn,
				Run: !ag.Suspended && !ws.Suspended, Suspended: ag.Suspended || ws.Suspended, Why: suspension(ws, ag),
			})
		}
	}
	return plan, members, nil
}

func suspension(ws *workspace.Workspace, ag *workspace.Agent) string {
	switch {
	case ws.Suspended:
		return "the workspace's file suspends it"
	case ag.Suspended:
		return "the workspace's file suspends this agent"
	}
	return "is wanted"
}

// policy is how an agent is kept, where the workspace says something.
func policy(ws *workspace.Workspace, ag *workspace.Agent) controller.Policy {
	p := controller.DefaultPolicy
	set := func(to *time.Duration, v time.Duration) {
		if v > 0 {
			*to = v
		}
	}
	set(&p.Patrol, ws.Keeper.PatrolInterval)
	set(&p.ShutdownTimeout, ws.Keeper.ShutdownTimeout)
	set(&p.ShutdownTimeout, ag.ShutdownTimeout)
	set(&p.Window, ag.Restart.Window)
	set(&p.Backoff, ag.Restart.Backoff)
	set(&p.BackoffMax, ag.Restart.BackoffMax)
	set(&p.IdleTimeout, ag.IdleTimeout)
	set(&p.StallTimeout, ag.StallTimeout)
	if ag.Restart.MaxRestarts > 0 {
		p.MaxRestarts = ag.Restart.MaxRestarts
	}
	if ag.Pool != nil {
		p.DrainTimeout = ag.Pool.DrainTimeout
	}
	// The steps of a start have limits of their own; this one is for a
	// provider that hangs.
	set(&p.StartTimeout, 12*ag.StartupTimeout)
	return p
}

// engine is the container engine that the workspace names, "" for what is
// there. It is asked for while a first plan is made.
func (d *daemon) engine() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.socket
}
