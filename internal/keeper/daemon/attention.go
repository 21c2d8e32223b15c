package daemon

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/keeper"
	"den/internal/session"
	"den/internal/session/cell"
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
	all := keeper.Attention{Waiting: []keeper.Waiting{}, Unreachable: unreachable}
	ps := d.ps("")
	c := commands{file: file, ambiguous: ambiguousIDs(reports)}
	if ps.Problem != "" {
		all.Waiting = append(all.Waiting, waitingConfig(ps, c))
	}
	for _, status := range ps.Agents {
		o := observedAgent{status: status}
		if m, err := d.find(status.Name); err == nil {
			o.state, o.mind = m.LastState(), d.socketOf(m) != ""
		}
		if report, ok := reports[status.Name]; ok {
			o.harness = &report
			all.Recent = append(all.Recent, report.approvals.Recent...)
		} else if !o.mind {
			o.cell = d.askingCell(status)
		}
		all.Waiting = append(all.Waiting, waitingOf(o, c)...)
	}
	slices.SortStableFunc(all.Waiting, longestFirst)
	slices.SortStableFunc(all.Recent, func(a, b keeper.Approval) int { return b.Decided.Compare(a.Decided) })
	return all
}

// longestFirst orders what waits; what waits for an unknown time is last.
func longestFirst(a, b keeper.Waiting) int {
	switch {
	case a.Since.IsZero() != b.Since.IsZero():
		if a.Since.IsZero() {
			return 1
		}
		return -1
	case !a.Since.Equal(b.Since):
		return a.Since.Compare(b.Since)
	}
	return strings.Compare(a.ID, b.ID)
}

// harnessReport is what a harness tells.
type harnessReport struct {
	approvals keeper.Approvals
	status    ipc.AgentStatus
}

// harnessReports asks all harnesses, and returns the agents whose harness did
// not answer.
func (d *daemon) harnessReports(ctx context.Context) (reports map[string]harnessReport, unreachable []string) {
	ctx, cancel := context.WithTimeout(ctx, attentionLimit)
	defer cancel()
	reports = map[string]harnessReport{}
	var mu sync.Mutex // guards reports
	unreachable = d.eachHarness(ctx, func(ctx context.Context, agent string, conn *ipc.Conn) error {
		var r harnessReport
		var err error
		if r.approvals, err = approvalsOf(ctx, conn); err != nil {
			return err
		}
		if _, err := conn.Call(ctx, ipc.Request{Type: ipc.Status}, &r.status); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		reports[agent] = r
		return nil
	})
	for agent, told := range d.screenApprovals() {
		reports[agent] = harnessReport{approvals: told}
	}
	return reports, unreachable
}

// askingCell returns the cell that asks something in an agent's session, or
// nil.
func (d *daemon) askingCell(status keeper.AgentStatus) *cell.Record {
	if status.DenSession == "" || status.Actual != keeper.Running {
		return nil
	}
	s, err := session.Open(d.home, status.DenSession, session.Options{})
	if err != nil {
		return nil // a session that is not there asks nothing
	}
	r, err := s.Cells().Load("")
	if err != nil || r.Final() || !r.Asks() {
		return nil // most have no cells
	}
	return &r
}
