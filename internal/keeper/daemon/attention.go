package daemon

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/keeper"
	"den/internal/keeper/receiver"
	"den/internal/keeper/waiting"
	"den/internal/session"
)

// attentionInterval is how often those who follow what waits for a person are
// told of changes. Budgets and expiries change without an event, so it is
// looked up.
const attentionInterval = time.Second

// attentionLimit bounds how long a harness may take to tell what waits: who
// watches a list is better told that one does not answer.
const attentionLimit = 2 * time.Second

// followAttention sends what waits for a person, now and with every change,
// until the context ends.
func (d *daemon) followAttention(ctx context.Context, file string, send func(keeper.Attention) error) error {
	tick := time.NewTicker(attentionInterval)
	defer tick.Stop()
	var told *keeper.Attention
	for {
		now := d.attention(ctx, file)
		if ctx.Err() != nil {
			return nil // what was cut off is not the truth
		}
		if told == nil || !reflect.DeepEqual(now, *told) {
			if err := send(now); err != nil {
				return err
			}
			told = &now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// attention collects what waits for a person. file is part of the commands, or
// "".
func (d *daemon) attention(ctx context.Context, file string) keeper.Attention {
	reports, unreachable := d.harnessReports(ctx)
	all := keeper.Attention{Unreachable: unreachable}
	ps := d.ps("")
	var agents []waiting.Agent
	for _, status := range ps.Agents {
		a := waiting.Agent{Status: status}
		if m, err := d.find(status.Name); err == nil {
			a.State, a.Harnessed = m.LastState(), d.socketOf(m) != ""
		}
		if report, ok := reports[status.Name]; ok {
			a.Harness = &report
			all.Recent = append(all.Recent, report.Approvals.Recent...)
		} else if !a.Harnessed {
			d.findAskingCell(&a)
		}
		agents = append(agents, a)
	}
	all.Waiting = waiting.List(ps, agents, file)
	slices.SortStableFunc(all.Recent, func(a, b keeper.Approval) int { return b.Decided.Compare(a.Decided) })
	return all
}

// harnessReports asks all harnesses, and returns the agents whose harness did
// not answer.
func (d *daemon) harnessReports(ctx context.Context) (reports map[string]waiting.Report, unreachable []string) {
	reports, unreachable = askHarnesses(ctx, d.sockets(), attentionLimit, func(ctx context.Context, conn *ipc.Conn) (r waiting.Report, err error) {
		if r.Approvals, err = approvalsOf(ctx, conn); err == nil {
			_, err = conn.Call(ctx, ipc.Request{Type: ipc.Status}, &r.Status)
		}
		return r, err
	})
	for agent, told := range d.screenApprovals() {
		reports[agent] = waiting.Report{Approvals: told}
	}
	return reports, unreachable
}

// findAskingCell adds the cell that asks something in an agent's session.
func (d *daemon) findAskingCell(a *waiting.Agent) {
	if a.Status.DenSession == "" || a.Status.Actual != keeper.Running {
		return
	}
	s, err := session.Open(d.home, a.Status.DenSession, session.Options{})
	if err != nil {
		return // a session that is not there asks nothing
	}
	if r, err := s.Cells().Load(""); err == nil && !r.Final() && r.Asks() { // most have no cells
		a.Cell = &r
	}
}

// tellReceivers tells the workspace's receiver of webhooks what begins to need a
// person, until the context ends. A file that names another receiver takes
// effect at once.
func (d *daemon) tellReceivers(ctx context.Context) {
	for ctx.Err() == nil {
		now := d.plan.now()
		hooks := now.workspace.Webhooks
		run, cancel := context.WithCancel(ctx)
		var telling sync.WaitGroup
		if hooks.URL != "" {
			telling.Go(func() {
				receiver.Tell(run, receiver.Options{
					Dir: filepath.Join(d.state.Path, "webhooks"), URL: hooks.URL, Secret: d.getenv(hooks.SecretEnv), Events: hooks.Events, HasHarness: d.hasHarness,
					Follow: func(ctx context.Context, send func(keeper.Attention) error) error {
						return d.followAttention(ctx, d.state.Config, send)
					},
				})
			})
		}
		select {
		case <-ctx.Done():
		case <-now.replaced:
		}
		cancel()
		telling.Wait()
	}
}

// hasHarness reports whether an agent has a harness.
func (d *daemon) hasHarness(agent string) bool {
	m, err := d.find(agent)
	return err == nil && d.socketOf(m) != ""
}
