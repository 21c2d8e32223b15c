package dend

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/harness/ipc"
	"den/internal/keeper"
	"den/internal/provider"
	"den/internal/pty"
	"den/internal/rpc"
	"den/internal/supervise"
)

// harnessLimit bounds a question to one harness.
const harnessLimit = 5 * time.Second

// approvals lists what agents ask permission for, the oldest first.
func (d *daemon) approvals(ctx context.Context) (keeper.Approvals, error) {
	ctx, cancel := context.WithTimeout(ctx, harnessLimit)
	defer cancel()
	var mu sync.Mutex
	all := keeper.Approvals{Approvals: []keeper.Approval{}}
	var asked sync.WaitGroup
	for name, socket := range d.sockets() {
		asked.Go(func() {
			var one struct {
				Approvals []json.RawMessage `json:"approvals"`
			}
			err := callHarness(ctx, socket, ipc.Request{Type: ipc.Approvals}, &one)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && fault.KindOf(err) != fault.NotRunning {
				all.Unreachable = append(all.Unreachable, name)
			}
			for _, raw := range one.Approvals {
				var a keeper.Approval
				if err := json.Unmarshal(raw, &a); err == nil {
					a.Detail = raw
					all.Approvals = append(all.Approvals, a)
				}
			}
		})
	}
	asked.Wait()
	slices.SortFunc(all.Approvals, func(a, b keeper.Approval) int { return a.Created.Compare(b.Created) })
	slices.Sort(all.Unreachable)
	return all, nil
}

// decide approves or denies what an agent asks for. Ids differ within an
// agent, most often between agents too: where two have the same, the name
// tells them apart.
func (d *daemon) decide(ctx context.Context, req keeper.Decision) (any, error) {
	open, err := d.approvals(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range open.Approvals {
		if strings.EqualFold(a.ID, req.ID) && (req.Agent == "" || a.Agent == req.Agent) {
			names = append(names, a.Agent)
		}
	}
	if len(names) > 1 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "%d agents ask for something with the id '%s'", len(names), req.ID), "say which: --agent %s", strings.Join(names, " or --agent "))
	}
	sockets := d.sockets()
	if len(names) == 0 && req.Agent == "" {
		return d.decideClosed(ctx, req, sockets)
	}
	name := req.Agent
	if len(names) == 1 {
		name = names[0]
	}
	socket, ok := sockets[name]
	if !ok {
		return nil, fault.Errorf(fault.NotFound, "no agent '%s' with a harness", name)
	}
	return struct{}{}, callHarness(ctx, socket, decideRequest(req), nil)
}

// decideClosed finds out why there is nothing to decide: somebody may have
// been faster.
func (d *daemon) decideClosed(ctx context.Context, req keeper.Decision, sockets map[string]string) (any, error) {
	for _, socket := range sockets {
		err := callHarness(ctx, socket, decideRequest(req), nil)
		if err == nil || fault.KindOf(err) == fault.Busy {
			return struct{}{}, err
		}
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "nothing with the id '%s' waits for a decision", req.ID), "'den approvals' lists what does")
}

// notByAgent refuses a decision that comes from a process of an agent's
// session: agents do not decide what agents may do.
func (d *daemon) notByAgent(ctx context.Context, call *rpc.Call) error {
	pid, err := call.Process()
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "decide: who asks is not known: %w", err)
	}
	if pty.HasEnv(pid, supervise.RunnerMark) {
		return fault.Errorf(fault.Denied, "an agent does not decide what agents may do")
	}
	for _, m := range d.minds() {
		p, err := d.providers.get(m.kind)
		if err != nil {
			continue // it has no sessions
		}
		lister, ok := p.(provider.ProcessLister)
		if !ok {
			continue
		}
		pids, err := lister.Processes(ctx, m.SessionName())
		if err != nil {
			return fault.Errorf(fault.Denied, "decide: the processes of '%s' are not known: %w", m.Name(), err)
		}
		if slices.Contains(pids, pid) {
			return fault.Errorf(fault.Denied, "'%s' is an agent: it does not decide what agents may do", m.Name())
		}
	}
	return nil
}

// minds lists the agents that have a harness.
func (d *daemon) minds() []member {
	d.mu.Lock()
	members := slices.Collect(maps.Values(d.members))
	d.mu.Unlock()
	return slices.DeleteFunc(members, func(m member) bool { return d.socketOf(m) == "" })
}

func decideRequest(req keeper.Decision) ipc.Request {
	return ipc.Request{Type: ipc.Decide, Question: req.ID, Option: req.Option, Message: req.Text, Always: req.Always, By: req.By, Why: req.Why}
}

// sockets returns where the harnesses listen, by agent.
func (d *daemon) sockets() map[string]string {
	all := map[string]string{}
	for _, m := range d.minds() {
		all[m.Name()] = d.socketOf(m)
	}
	return all
}

func callHarness(ctx context.Context, socket string, r ipc.Request, data any) error {
	conn, err := ipc.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was answered.
	_, err = conn.Call(ctx, r, data)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Errorf(fault.Unreachable, "a harness does not answer: %w", err)
	}
	return err
}
