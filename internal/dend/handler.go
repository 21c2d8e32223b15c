package dend

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"den/internal/agent"
	"den/internal/fault"
	"den/internal/keeper"
)

// errDown is why a keeper ends that was told to.
var errDown = errors.New("den down")

// handler answers the socket.
type handler struct {
	d    *daemon
	down context.CancelCauseFunc
}

// Handle answers one request.
func (h *handler) Handle(ctx context.Context, method string, params json.RawMessage, part func(any) error) (any, error) {
	d := h.d
	var req keeper.Agent
	var from keeper.EventsFrom
	target := any(&req)
	if method == keeper.MethodEvents {
		target = &from
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, target); err != nil {
			return nil, fault.Errorf(fault.Protocol, "%s: %w", method, err)
		}
	}
	switch method {
	case keeper.MethodPs:
		if req.Wait {
			if err := d.controller.Await(ctx); err != nil {
				return nil, err
			}
		}
		return d.ps(""), nil
	case keeper.MethodReload:
		if err := d.load(); err != nil {
			return nil, err
		}
		return struct{}{}, nil
	case keeper.MethodDown:
		if err := d.controller.Down(ctx); err != nil {
			return nil, err
		}
		h.down(errDown)
		return struct{}{}, nil
	case keeper.MethodOrder:
		if err := d.controller.Order(ctx, req.Name, req.Order, req.Wait); err != nil {
			return nil, err
		}
		return d.ps(req.Name), nil
	case keeper.MethodEvents:
		return struct{}{}, d.controller.Events(ctx, from.After, from.Agent, from.Follow, func(e keeper.Event) error { return part(e) })
	}
	return h.one(ctx, method, req)
}

// one answers what is about one agent.
func (h *handler) one(ctx context.Context, method string, req keeper.Agent) (any, error) {
	m, err := h.d.find(req.Name)
	if err != nil {
		return nil, err
	}
	switch method {
	case keeper.MethodPeek:
		text, err := m.Peek(ctx, req.Lines)
		return keeper.Peeked{Text: text}, err
	case keeper.MethodNudge:
		return h.d.nudge(ctx, m, req.Text, req.Wait)
	case keeper.MethodDrained:
		p, err := h.d.places.get(m.kind)
		if err != nil {
			return nil, err
		}
		if err := p.SetMeta(ctx, m.SessionName(), agent.MetaDrained, "yes"); err != nil {
			return nil, err
		}
		h.d.controller.Look()
		return struct{}{}, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the keeper knows no '%s'", method), "it may be older than this den: 'den down' and 'den up'")
}

func (d *daemon) find(name string) (member, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, known := range []map[string]member{d.members, d.leaving} {
		if m, ok := known[name]; ok {
			return m, nil
		}
	}
	return member{}, fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name), "'den ps' lists them")
}

// ps tells of one agent, or with an empty name of all.
func (d *daemon) ps(name string) keeper.Ps {
	d.mu.Lock()
	ps := keeper.Ps{Workspace: d.workspace.Name, Config: d.place.Config, Keeper: os.Getpid(), Agents: []keeper.AgentStatus{}}
	if d.problem != nil {
		ps.Problem = d.problem.Error()
	}
	d.mu.Unlock()
	for _, s := range d.controller.Status() {
		if name == "" || s.Name == name {
			ps.Agents = append(ps.Agents, s)
		}
	}
	return ps
}
