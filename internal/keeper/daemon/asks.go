package daemon

import (
	"context"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/protocol"
	"den/internal/agent/harness"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/workspace"
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
	answer, err := m.Ask(ctx, conversation.Message{ID: req.NudgeID, Text: req.Text}, conversation.AskOptions{Caller: req.Caller, Limit: time.Duration(req.TimeoutMs) * time.Millisecond})
	if fault.KindOf(err) == fault.Timeout && fault.HintOf(err) == "" {
		err = harness.NotAnswered(err, d.policies.Named(m.Name()), req.NudgeID)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// harnessOf is what drives an agent by its protocol, nil for one on a screen.
func (d *deps) harnessOf(ag *workspace.Agent, name, key string, running func(context.Context) (bool, error)) (*protocol.Harness, error) {
	socket, err := d.harnessSocket(ag, key)
	if err != nil || socket == "" {
		return nil, err
	}
	return &protocol.Harness{
		Socket: socket,
		Nudges: func() ([]outbox.Message, error) { return harness.Nudges(d.harnessDir(key)) },
		Awaited: func(ctx context.Context) (string, bool) {
			s := d.statusOf(name)
			runs, err := running(ctx)
			gone := err == nil && !runs
			return s.Actual, !gone || s.Wanted == keeper.Running && s.Actual != keeper.Quarantined && s.Actual != keeper.Finished
		},
	}, nil
}

// statusOf returns what the controller knows of an agent.
func (d *deps) statusOf(name string) (one keeper.AgentStatus) {
	for _, s := range d.owner.status() {
		if s.Name == name {
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
	socket, err := d.harnessSocket(ag, m.key)
	if err != nil {
		return ""
	}
	return socket
}
