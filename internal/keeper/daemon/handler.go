package daemon

import (
	"context"
	"os"
	"slices"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/chatserver"
	"den/internal/place/sandbox"
)

// handler answers the socket.
type handler struct {
	d *daemon
}

// Handle answers one request.
func (h *handler) Handle(ctx context.Context, call *rpc.Call) (any, error) {
	d := h.d
	begun := func() error { return call.Send(struct{}{}) }
	if !slices.Contains(fromSandbox, call.Method) && call.Confined() {
		return nil, fault.Errorf(fault.Denied, "an agent in a sandbox may not ask its keeper for '%s'", call.Method)
	}
	switch call.Method {
	case keeper.MethodEvents:
		return of(call, func(from keeper.EventsFrom) (any, error) { return h.events(ctx, call, from) })
	case keeper.MethodAttention:
		return of(call, func(from keeper.AttentionFrom) (any, error) { return h.attention(ctx, call, from) })
	case keeper.MethodDecide:
		return of(call, func(req keeper.Decision) (any, error) {
			if err := d.notByAgent(ctx, call, req.For); err != nil {
				return nil, err
			}
			return d.decide(ctx, req)
		})
	case keeper.MethodAnswer:
		return of(call, func(req keeper.Answer) (any, error) {
			if err := d.notByAgent(ctx, call, req.For); err != nil {
				return nil, err
			}
			return d.answer(ctx, req)
		})
	case keeper.MethodJudge:
		return of(call, func(use keeper.ToolUse) (any, error) { return d.judge(ctx, call, use) })
	case keeper.MethodAct:
		return of(call, func(act keeper.Act) (any, error) { return h.act(ctx, call, act) })
	case keeper.MethodApprovals:
		return d.approvals(ctx), nil
	case keeper.MethodAccounts:
		return h.accounts()
	case keeper.MethodSetAccount:
		return of(call, func(a keeper.Account) (any, error) { return h.changeAccount(ctx, call, a, "set", d.setAccount) })
	case keeper.MethodRemoveAccount:
		return of(call, func(a keeper.Account) (any, error) {
			return h.changeAccount(ctx, call, a, "removed", func(a keeper.Account) error { return d.chat.RemoveAccount(a.Name) })
		})
	case keeper.MethodDown:
		return struct{}{}, d.goDown(ctx, begun)
	case keeper.MethodPs:
		return of(call, func(req keeper.Agent) (any, error) { return h.ps(ctx, req.Wait) })
	case keeper.MethodReload:
		return of(call, func(req keeper.Agent) (any, error) { return struct{}{}, d.load(req.Yes) })
	case keeper.MethodOrder:
		return of(call, func(req keeper.Agent) (any, error) {
			if err := h.byPerson(ctx, call, req); err != nil {
				return nil, err
			}
			return d.order(ctx, req, begun)
		})
	case keeper.MethodNudges:
		return of(call, func(req keeper.Agent) (any, error) { return d.nudgesOf(req.Name) })
	case keeper.MethodWorktrees:
		return d.trees.List(ctx)
	case keeper.MethodPrune:
		return of(call, func(req keeper.Prune) (any, error) { return d.prune(ctx, req) })
	case keeper.MethodPeek:
		return h.one(call, func(m member, req keeper.Agent) (any, error) { return peek(ctx, m, req.Lines) })
	case keeper.MethodSeen:
		return h.one(call, func(m member, _ keeper.Agent) (any, error) {
			return keeper.Seen{Agent: m.Name()}, m.Seen(time.Now())
		})
	case keeper.MethodNudge:
		return h.one(call, func(m member, req keeper.Agent) (any, error) {
			if err := h.byPerson(ctx, call, req); err != nil {
				return nil, err
			}
			nudged, err := d.nudge(ctx, m, req, begun)
			if err == nil {
				d.acted(m, keeper.ActMessage, req.By)
			}
			return nudged, err
		})
	case keeper.MethodAsk:
		return h.one(call, func(m member, req keeper.Agent) (any, error) { return h.ask(ctx, m, req) })
	case keeper.MethodDraining:
		return h.one(call, func(m member, _ keeper.Agent) (any, error) { return draining(ctx, m) })
	case keeper.MethodDrained:
		return h.one(call, func(m member, _ keeper.Agent) (any, error) { return h.drained(ctx, m) })
	}
	return nil, fault.Hintf(fault.Errorf(fault.Protocol, "the keeper (den %s) does not know the method %q of den %s", build.Version, call.Method, call.Den), "'den down' and 'den up' with one den")
}

// of answers a request with what it says.
func of[T any](call *rpc.Call, answer func(T) (any, error)) (any, error) {
	var req T
	if err := call.Decode(&req); err != nil {
		return nil, err
	}
	return answer(req)
}

// one answers a request about one agent.
func (h *handler) one(call *rpc.Call, answer func(member, keeper.Agent) (any, error)) (any, error) {
	return of(call, func(req keeper.Agent) (any, error) {
		m, err := h.d.find(req.Name)
		if err != nil {
			return nil, err
		}
		return answer(m, req)
	})
}

func (h *handler) ps(ctx context.Context, wait bool) (any, error) {
	if wait {
		if err := h.d.controller.Await(ctx); err != nil {
			return nil, err
		}
	}
	h.d.trees.Await(ctx)
	h.d.lookAtSandboxes(ctx)
	return h.d.ps(""), nil
}

func peek(ctx context.Context, m member, lines int) (any, error) {
	text, err := m.Peek(ctx, lines)
	if err == nil {
		err = m.notes.Look(time.Now())
	}
	return keeper.Peeked{Text: text}, err
}

// ask has an agent answer. Who asked has its answer: that is no news.
func (h *handler) ask(ctx context.Context, m member, req keeper.Agent) (any, error) {
	reply, err := h.d.ask(ctx, m, req)
	if err == nil {
		err = m.notes.Look(time.Now())
	}
	return reply, err
}

func draining(ctx context.Context, m member) (any, error) {
	why, err := m.Draining(ctx)
	return keeper.Draining{Draining: why != "", Why: why}, err
}

func (h *handler) drained(ctx context.Context, m member) (any, error) {
	if err := m.SayDrained(ctx); err != nil {
		return nil, err
	}
	h.d.controller.Refresh()
	return struct{}{}, nil
}

func (h *handler) events(ctx context.Context, call *rpc.Call, from keeper.EventsFrom) (any, error) {
	if m, err := h.d.find(from.Agent); err == nil {
		from.Agent = m.Name() // what is not known may have been: its events are there
	}
	return struct{}{}, h.d.controller.Events(ctx, from.After, from.Agent, from.Follow, func(e keeper.Event) error { return call.Send(e) })
}

func (h *handler) attention(ctx context.Context, call *rpc.Call, from keeper.AttentionFrom) (any, error) {
	if from.Follow {
		return struct{}{}, h.d.followAttention(ctx, from.File, func(a keeper.Attention) error { return call.Send(a) })
	}
	return h.d.attention(ctx, from.File), nil
}

// byPerson refuses what is done in a person's name by a process of an agent.
func (h *handler) byPerson(ctx context.Context, call *rpc.Call, req keeper.Agent) error {
	if req.By == "" && len(req.For) == 0 {
		return nil
	}
	return h.d.notByAgent(ctx, call, req.For)
}

// act notes what somebody does with a session, unless that is an agent.
func (h *handler) act(ctx context.Context, call *rpc.Call, act keeper.Act) (any, error) {
	if err := h.d.notByAgent(ctx, call, act.For); err != nil {
		return nil, err
	}
	m, ok := h.d.plan.now().inSession(act.Session)
	if !ok {
		return keeper.Acted{}, nil
	}
	h.d.acted(m, act.Action, act.By)
	return keeper.Acted{Agent: m.Name()}, nil
}

// acted notes what a person did with an agent on a dashboard. Who calls by
// another way does not say who that is.
func (d *daemon) acted(m member, action, by string) {
	if by != "" {
		d.controller.Event(keeper.Event{Type: keeper.EventActed, Agent: m.Name(), Key: m.key, Why: action, Detail: map[string]any{"by": by}})
	}
}

// order is a user's word about one agent, or without a name about all. taken
// tells who waits that it holds.
func (d *daemon) order(ctx context.Context, req keeper.Agent, taken func() error) (any, error) {
	key := ""
	var one member
	if req.Name != "" {
		var err error
		if one, err = d.find(req.Name); err != nil {
			return nil, err
		}
		key = one.key
	}
	settled, err := d.controller.Order(key, req.Order)
	if err != nil {
		return nil, err
	}
	if key != "" {
		d.acted(one, req.Order, req.By)
	}
	if req.Wait {
		if err := taken(); err != nil {
			return nil, err
		}
		if err := settled(ctx); err != nil {
			return nil, err
		}
	}
	if key == "" {
		return d.ps(""), nil
	}
	return d.ps(d.plan.now().nameOf(key)), nil
}

// find returns an agent by its name; see inForce.find.
func (d *daemon) find(name string) (member, error) { return d.plan.now().find(name) }

// ps tells of one agent, or with an empty name of all.
func (d *daemon) ps(name string) keeper.Ps {
	ps, named := d.listed(name)
	for i := range ps.Agents { // it reads files: not under the lock
		s := &ps.Agents[i]
		m := named[s.Name]
		s.Attention = m.notes.Attention(*s)
		if m.Managed != nil && d.socketOf(m) != "" {
			s.Harness = m.key
		}
	}
	return ps
}

// listed is ps without what the agents' sessions tell, and the agents by their
// names.
func (d *daemon) listed(name string) (ps keeper.Ps, named map[string]member) {
	status := d.controller.Status()
	now := d.plan.now()
	ps = keeper.Ps{Workspace: now.workspace.Name, Config: d.state.Config, Keeper: os.Getpid(), Ending: d.end.begun(), Agents: []keeper.AgentStatus{}}
	if place, err := d.chat.Where(); err == nil && place.Address != "" && chatserver.Needed(now.workspace) {
		ps.Server = &keeper.ChatServer{Address: place.Address, Own: place.Own, Socket: place.Socket, Listen: place.Listen}
		if place.Socket != "" {
			ps.Server.Nick = d.decidingNick(now.workspace)
		}
	}
	if now.problem != nil {
		ps.Problem = now.problem.Error()
	}
	named = map[string]member{}
	for _, m := range slices.Backward(now.all()) { // one that is wanted counts
		named[m.Name()] = m
	}
	for _, s := range status {
		if name != "" && s.Name != name {
			continue
		}
		if m, ok := named[s.Name]; ok {
			s.Nudges = m.PendingNudges()
			showState(&s, m.LastState())
			s.Worktree, s.Approval = d.trees.At(m.tree.Path), m.approval
			if m.policy != nil {
				s.Sandbox, s.Denied = m.policy.Held.Tell(*m.policy), sandbox.Noted(m.policy.Private)
				s.SandboxDir = m.policy.Private
			}
			if s.Session == m.SessionName() && s.Provider == m.Provider() {
				s.DenSession = m.DenSession()
			}
		}
		ps.Agents = append(ps.Agents, s)
	}
	return ps, named
}
