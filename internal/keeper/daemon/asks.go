package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"
)

// maxAskDepth bounds how many agents may wait for each other in a chain.
const maxAskDepth = 5

// asks are the questions that agents wait for, who asks whom. An agent that
// waits cannot answer, so a circle would wait for ever.
type asks struct {
	mu      sync.Mutex
	waiting map[string]map[string]int // by who asks, then by who is asked: how often
}

func newAsks() asks { return asks{waiting: map[string]map[string]int{}} }

// begin notes that one agent asks another, unless that would close a circle or
// make too long a chain. end forgets it. A person has no name.
func (a *asks) begin(caller, asked string) (end func(), err error) {
	if caller == "" {
		return func() {}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if caller == asked || a.reachesLocked(asked, caller, map[string]bool{}) {
		return nil, fault.Errorf(fault.Denied, "'%s' waits for '%s' already: neither could answer", asked, caller)
	}
	if a.depthLocked(caller, map[string]bool{})+1 > maxAskDepth {
		return nil, fault.Errorf(fault.Denied, "%d agents wait for each other already", maxAskDepth)
	}
	if a.waiting[caller] == nil {
		a.waiting[caller] = map[string]int{}
	}
	a.waiting[caller][asked]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting[caller][asked]--; a.waiting[caller][asked] == 0 {
			delete(a.waiting[caller], asked)
		}
	}, nil
}

// reachesLocked reports whether from waits for to, by others too.
func (a *asks) reachesLocked(from, to string, seen map[string]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	for next := range a.waiting[from] {
		if next == to || a.reachesLocked(next, to, seen) {
			return true
		}
	}
	return false
}

// depthLocked is how many agents wait for an agent, one for the other.
func (a *asks) depthLocked(agent string, seen map[string]bool) int {
	if seen[agent] {
		return 0
	}
	seen[agent] = true
	deepest := 0
	for caller, asked := range a.waiting {
		if asked[agent] > 0 {
			deepest = max(deepest, 1+a.depthLocked(caller, seen))
		}
	}
	return deepest
}

// ask gives an agent a message and waits for the answer of that turn.
func (d *daemon) ask(ctx context.Context, m member, req keeper.Agent) (any, error) {
	end, err := d.asks.begin(req.Caller, m.Name())
	if err != nil {
		return nil, err
	}
	defer end()
	if socket := d.socketOf(m); socket != "" {
		return d.converse(ctx, m, socket, req)
	}
	if req.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(req.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	reply, err := m.Ask(ctx, req.NudgeID, req.Text)
	switch {
	case fault.KindOf(err) == fault.Timeout:
		return nil, harness.NotAnswered(err, d.policies.Named(m.Name()), req.NudgeID)
	case err != nil:
		return nil, err
	case reply.Failure != "":
		return nil, fault.Errorf(fault.Internal, "the agent could not answer: %s", reply.Failure)
	}
	return answerOf(req.NudgeID, reply), nil
}

// answerOf is a reply as it is sent.
func answerOf(id string, r conversation.Reply) ipc.Answer {
	a := ipc.Answer{
		ID: id, Text: r.Text, DurationMs: r.Duration.Milliseconds(), Usage: ipc.Usage(r.Usage), Cancelled: r.Cancelled,
		Attempts: 1, Source: r.Source, Certainty: string(r.Certainty),
	}
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, ipc.Used(t.Name, t.Input))
	}
	return a
}

// converse asks an agent that a harness drives.
func (d *daemon) converse(ctx context.Context, m member, socket string, req keeper.Agent) (any, error) {
	begun, limit := time.Now(), time.Duration(req.TimeoutMs)*time.Millisecond
	conn, err := d.dialHarness(ctx, m, socket, limit)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // Best effort: it was answered.
	var callers []string
	if req.Caller != "" {
		callers = []string{req.Caller}
	}
	if limit > 0 {
		limit = max(time.Millisecond, limit-time.Since(begun))
	}
	var answer ipc.Answer
	_, err = conn.Call(ctx, ipc.Request{Type: ipc.Converse, Message: req.Text, MessageID: req.NudgeID, Timeout: limit.Seconds(), Callers: callers}, &answer)
	return answer, err
}

// dialHarness connects to a harness. It waits for one that is starting, and for
// one that the keeper starts again, within the limit; 0 is none.
func (d *daemon) dialHarness(ctx context.Context, m member, socket string, limit time.Duration) (conn *ipc.Conn, err error) {
	within := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var s keeper.AgentStatus
	waited := poll.Until(within, func() (bool, error) {
		conn, err = ipc.Dial(within, socket)
		if err == nil || fault.KindOf(err) != fault.NotRunning {
			return true, nil
		}
		s = d.statusOf(m)
		running, rerr := m.IsRunning(within)
		return rerr == nil && !running && (s.Wanted != keeper.Running || s.Actual == keeper.Quarantined || s.Actual == keeper.Finished), nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, fault.Hintf(fault.Errorf(fault.Timeout, "ask agent '%s': it is %s, and took no message within %s", m.Name(), s.Actual, limit), "'den ps' tells why; ask again with more time (--timeout)")
	case waited != nil:
		return nil, waited
	case err != nil && s.Actual != "":
		return nil, fmt.Errorf("agent '%s' is %s: %w", m.Name(), s.Actual, err)
	}
	return conn, err
}

// statusOf returns what the controller knows of an agent.
func (d *daemon) statusOf(m member) (one keeper.AgentStatus) {
	for _, s := range d.controller.Status() {
		if s.Name == m.Name() {
			return s
		}
	}
	return one
}

// socketOf is the socket of an agent's harness, "" where it has none.
func (d *daemon) socketOf(m member) string {
	ag, err := d.plan.now().workspace.Agent(m.Name())
	if err != nil {
		return ""
	}
	socket, err := d.mindSocket(ag, m.key)
	if err != nil {
		return ""
	}
	return socket
}
