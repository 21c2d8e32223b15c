package dend

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/fault"
	"den/internal/harness/ipc"
	"den/internal/keeper"
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

func decideRequest(req keeper.Decision) ipc.Request {
	return ipc.Request{Type: ipc.Decide, Question: req.ID, Option: req.Option, Always: req.Always, By: req.By, Why: req.Why}
}

// sockets returns where the harnesses listen, by agent.
func (d *daemon) sockets() map[string]string {
	d.mu.Lock()
	members := make([]member, 0, len(d.members))
	for _, m := range d.members {
		members = append(members, m)
	}
	d.mu.Unlock()
	all := map[string]string{}
	for _, m := range members {
		if socket := d.socketOf(m); socket != "" {
			all[m.Name()] = socket
		}
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
