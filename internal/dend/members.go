package dend

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"den/internal/agent"
	"den/internal/fault"
	"den/internal/keeper"
	"den/internal/provider"
	"den/internal/session"
	"den/internal/workspace"
)

// member makes one agent of the workspace's entry; of a pool there are many,
// each with a name of its own.
func (d *daemon) member(ws *workspace.Workspace, ag *workspace.Agent, name string) (member, error) {
	kind := ag.SessionProvider
	p, err := d.places.get(kind)
	if err != nil {
		return member{}, fmt.Errorf("agent '%s': %w", name, err)
	}
	template := ag.SessionTemplate
	if template == "" {
		template = ws.SessionTemplate
	}
	names, warning := agent.NewNames(template)
	if warning != nil {
		log.Printf("warning: %v", warning)
	}
	single := *ag
	single.Name = name
	sessionName := names.Session(ws.Name, name)
	config, err := agent.ConfigOf(ws.Name, sessionName, &single)
	if err != nil {
		return member{}, err
	}
	queue, err := d.queue(name)
	if err != nil {
		return member{}, err
	}
	m, err := agent.New(agent.Options{Workspace: ws.Name, WorkspaceFile: d.place.Config, Name: name, Session: sessionName, Provider: p, Config: config, Nudges: queue})
	if err != nil {
		return member{}, err
	}
	return member{Managed: m, kind: kind}, nil
}

// queue returns the agent's nudges: one queue, whatever its configuration.
func (d *daemon) queue(name string) (*agent.Queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.queues[name]; q != nil {
		return q, nil
	}
	q, err := agent.OpenQueue(filepath.Join(d.place.Nudges(), url.PathEscape(name)), agent.Timing{})
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", name, err)
	}
	for _, file := range q.Damaged() {
		log.Printf("nudge %s cannot be read, and was left where it is", file)
	}
	if d.queues == nil {
		d.queues = map[string]*agent.Queue{}
	}
	d.queues[name] = q
	return q, nil
}

// nudge gives an agent a message. Once it is kept it is not lost, whoever
// stops waiting.
func (d *daemon) nudge(ctx context.Context, m member, text string, wait bool) (keeper.Nudged, error) {
	if !wait {
		q, err := d.queue(m.Name())
		if err != nil {
			return keeper.Nudged{}, err
		}
		n, err := q.Add(text)
		return keeper.Nudged{ID: n.ID, Status: string(n.State), Note: n.Reason}, err
	}
	n, err := m.Nudge(ctx, text)
	d.controller.Event(keeper.Event{Type: keeper.EventNudged, Agent: m.Name(), Why: string(n.State), Detail: map[string]any{"id": n.ID, "note": n.Reason}})
	return keeper.Nudged{ID: n.ID, Status: string(n.State), Note: n.Reason}, err
}

// deliver types what is queued for the agents, whatever their configuration
// becomes meanwhile.
func (d *daemon) deliver(ctx context.Context) {
	running := map[string]*delivery{}
	defer func() {
		for _, r := range running {
			r.end()
		}
	}()
	for {
		d.mu.Lock()
		members, changed := d.members, d.changed
		d.mu.Unlock()
		for name, r := range running {
			if m, ok := members[name]; !ok || m != r.of {
				r.end()
				delete(running, name)
			}
		}
		for name, m := range members {
			if running[name] == nil {
				running[name] = beginDelivery(ctx, m)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// delivery is one agent's goroutine that types.
type delivery struct {
	of     member
	cancel context.CancelFunc
	done   chan struct{}
}

func beginDelivery(ctx context.Context, m member) *delivery {
	ctx, cancel := context.WithCancel(ctx)
	r := &delivery{of: m, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			err := m.DeliverNudges(ctx)
			if ctx.Err() != nil {
				return
			}
			log.Printf("deliver nudges to %s: %v; again in a moment", m.Name(), err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return r
}

func (r *delivery) end() {
	r.cancel()
	<-r.done
}

// attach joins this process's terminal to an agent's session. It needs no
// keeper: the session is there without one.
func attach(o options, environ []string, name string) error {
	getenv := lookup(environ)
	p, err := keeper.At(o.file)
	if err != nil {
		return err
	}
	home, err := session.ResolveHome(o.home, getenv)
	if err != nil {
		return err
	}
	ws, err := workspace.Load(p.Config)
	if err != nil {
		return err
	}
	d := &daemon{place: p, home: home, den: o.den, getenv: getenv, environ: environ, workspace: ws, socket: ws.Session.Socket}
	d.places = newPlaces(d)
	defer d.places.close()
	m, err := d.named(ws, name)
	if err != nil {
		return err
	}
	ctx, stop := untilSignalled()
	defer stop()
	err = m.Attach(ctx, provider.Terminal{In: os.Stdin, Out: os.Stdout})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// named finds an agent by its name, or one of a pool.
func (d *daemon) named(ws *workspace.Workspace, name string) (member, error) {
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		names := []string{ag.Name}
		if ag.Pool != nil {
			names = ag.Members(ag.Pool.Max)
		}
		for _, n := range names {
			if n == name {
				return d.member(ws, ag, name)
			}
		}
	}
	return member{}, fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name), "'den ps' lists them")
}
