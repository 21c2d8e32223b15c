package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/protocol"
	"den/internal/agent/harness"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"
)

// queues are the agents' nudges, by key: one queue an agent, whatever its
// configuration and wherever it moves.
type queues struct {
	dir   string
	ended func(key string, n outbox.Message)

	mu  sync.Mutex // guards all
	all map[string]*outbox.Queue
}

// newQueues returns those in a directory. ended hears of each message that needs
// nothing more.
func newQueues(dir string, ended func(key string, n outbox.Message)) *queues {
	return &queues{dir: dir, ended: ended, all: map[string]*outbox.Queue{}}
}

// of returns the queue of an agent, and opens it at the first call.
func (qs *queues) of(name, key string) (*outbox.Queue, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q := qs.all[key]; q != nil {
		return q, nil
	}
	q, err := outbox.Open(filepath.Join(qs.dir, url.PathEscape(key)))
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", name, err)
	}
	for _, file := range q.Damaged() {
		log.Printf("nudge %s cannot be read, and was left where it is", file)
	}
	q.OnEnd(func(n outbox.Message) { qs.ended(key, n) })
	qs.all[key] = q
	return q, nil
}

// list returns all that is kept, by key.
func (qs *queues) list() map[string][]outbox.Message {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	all := map[string][]outbox.Message{}
	for key, q := range qs.all {
		all[key] = q.List()
	}
	return all
}

func (d *deps) tellNudge(key string, n outbox.Message) {
	d.owner.tell(keeper.Event{Type: keeper.EventNudged, Agent: d.owner.nameOf(key), Key: key, Why: string(n.Status), Detail: map[string]any{"id": n.ID, "note": n.Reason, "attempts": n.Attempts}})
}

// nudge gives an agent a message. Once it is kept it is not lost, whoever
// stops waiting: kept tells them.
func (d *daemon) nudge(ctx context.Context, m member, req keeper.Agent, kept func() error) (keeper.Nudged, error) {
	n, err := m.KeepNudge(ctx, req.NudgeID, req.Text)
	if err == nil && req.Wait && (!n.Status.Final() || n.Status == conversation.Failed) {
		if err := kept(); err != nil {
			return keeper.Nudged{}, err
		}
		if why := d.notWanted(m.Name()); why != "" {
			return keeper.Nudged{}, fault.Hintf(fault.Errorf(fault.NotRunning, "nudge agent '%s': it is %s; %s stays queued", m.Name(), why, n.ID),
				"it is typed when the agent runs again: 'den agent start %s'", m.Name())
		}
		n, err = m.DeliverNudge(ctx, n.ID)
	}
	return keeper.Nudged{ID: n.ID, Status: string(n.Status), Note: n.Reason}, err
}

// notWanted says what an agent is that does not run and will not by itself, ""
// for another one.
func (d *deps) notWanted(name string) string {
	switch s := d.statusOf(name); s.Actual {
	case keeper.Quarantined, keeper.Finished:
		return s.Actual
	case keeper.Stopped:
		if s.Wanted != keeper.Running {
			return s.Wanted
		}
	}
	return ""
}

// nudgesOf lists what is kept of one agent's nudges, or without a name of all.
func (d *daemon) nudgesOf(name string) (keeper.Nudges, error) {
	only := ""
	if name != "" {
		m, err := d.find(name)
		if err != nil {
			return keeper.Nudges{}, err
		}
		only = m.key
	}
	all, now := keeper.Nudges{Nudges: []keeper.Nudge{}}, d.plan.now()
	for key, messages := range d.queues.list() {
		if only != "" && key != only {
			continue
		}
		kept, err := harness.Nudges(d.harnessDir(key))
		if err != nil {
			return keeper.Nudges{}, err
		}
		name := now.nameOf(key)
		for _, n := range protocol.All(messages, kept) {
			all.Nudges = append(all.Nudges, keeper.Nudge{
				ID: n.ID, Agent: name, Status: string(n.Status), Note: n.Reason, Text: n.Text, Attempts: n.Attempts, Created: n.Created, Updated: n.Updated,
			})
		}
	}
	slices.SortFunc(all.Nudges, func(a, b keeper.Nudge) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// deliver types what is queued for the agents, whatever their configuration
// becomes meanwhile, and for those that may still finish. It waits for nobody
// before the context ends: a message that is being typed is typed to its end,
// and that may take a minute.
func (d *daemon) deliver(ctx context.Context) {
	latest := map[string]*delivery{} // of each key; it may have ended
	var all sync.WaitGroup
	defer all.Wait()
	for {
		now := d.plan.now()
		wanted := map[string]member{}
		maps.Copy(wanted, now.leaving)
		maps.Copy(wanted, now.members)
		for key, r := range latest {
			if _, ok := wanted[key]; !ok {
				r.cancel()
				if r.isOver() {
					delete(latest, key)
				}
			}
		}
		for key, m := range wanted {
			if before := latest[key]; before == nil || before.of != m {
				r := newDelivery(ctx, m, before)
				latest[key] = r
				all.Go(r.run)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-now.replaced:
		}
	}
}

// delivery types at one agent, as one configuration has it.
type delivery struct {
	of     member
	ctx    context.Context
	cancel context.CancelFunc
	before *delivery // of the same agent: it ends first; or nil
	over   chan struct{}
}

// newDelivery ends the one before. The new one begins when that has ended.
func newDelivery(ctx context.Context, m member, before *delivery) *delivery {
	r := &delivery{of: m, before: before, over: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if before != nil {
		before.cancel()
	}
	return r
}

func (r *delivery) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

func (r *delivery) run() {
	defer close(r.over)
	defer r.cancel()
	if r.before != nil {
		<-r.before.over
		r.before = nil
	}
	for r.ctx.Err() == nil {
		err := r.of.Run(r.ctx)
		if r.ctx.Err() != nil {
			return
		}
		log.Printf("deliver nudges to %s: %v; again in a moment", r.of.Name(), err)
		_ = poll.Pause(r.ctx, time.Second) // the loop asks the context, too
	}
}
