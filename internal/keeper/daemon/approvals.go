package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"den/internal/agent"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/judge"
	"den/internal/place/provider"
	"den/internal/process/pty"
	"den/internal/process/tree"
)

// harnessLimit bounds a question to one harness.
const harnessLimit = 5 * time.Second

// approvals lists what agents ask permission for, the oldest first.
func (d *daemon) approvals(ctx context.Context) keeper.Approvals {
	told, unreachable := askHarnesses(ctx, d.sockets(), harnessLimit, approvalsOf)
	maps.Copy(told, d.screenApprovals())
	all := keeper.Approvals{Approvals: []keeper.Approval{}, Unreachable: unreachable}
	for _, one := range told {
		all.Approvals = append(all.Approvals, one.Approvals...)
		all.Recent = append(all.Recent, one.Recent...)
	}
	slices.SortFunc(all.Approvals, func(a, b keeper.Approval) int { return a.Created.Compare(b.Created) })
	slices.SortFunc(all.Recent, func(a, b keeper.Approval) int { return b.Decided.Compare(a.Decided) })
	return all
}

// screenApprovals lists those of agents on screens, by agent.
func (d *daemon) screenApprovals() map[string]keeper.Approvals {
	all, err := d.policies.Approvals()
	if err != nil {
		log.Print(err) // a bug: others are told all the same
	}
	return all
}

// approvalsOf asks one harness.
func approvalsOf(ctx context.Context, conn *ipc.Conn) (keeper.Approvals, error) {
	var data json.RawMessage
	if _, err := conn.Call(ctx, ipc.Request{Type: ipc.Approvals}, &data); err != nil {
		return keeper.Approvals{}, err
	}
	return keeper.ReadApprovals(data)
}

// askHarnesses asks all harnesses at once, for a bounded time, and returns what
// they tell by agent, and the agents whose harness did not answer. One that does
// not run is none of them.
func askHarnesses[V any](ctx context.Context, sockets map[string]string, limit time.Duration, ask func(context.Context, *ipc.Conn) (V, error)) (told map[string]V, unreachable []string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		told V
		err  error
	}
	told = map[string]V{}
	for name, a := range atOnce(sockets, func(_, socket string) (a answer, ok bool) {
		a.err = askHarness(ctx, socket, func(conn *ipc.Conn) (err error) {
			a.told, err = ask(ctx, conn)
			return err
		})
		return a, fault.KindOf(a.err) != fault.NotRunning
	}) {
		if a.err != nil {
			unreachable = append(unreachable, name)
		} else {
			told[name] = a.told
		}
	}
	slices.Sort(unreachable)
	return told, unreachable
}

// decide approves or denies what an agent asks for. Ids differ within an
// agent, most often between agents too: where two have the same, the name
// tells them apart.
func (d *daemon) decide(ctx context.Context, req keeper.Decision) (keeper.Decided, error) {
	var names []string
	for _, a := range d.approvals(ctx).Approvals {
		if strings.EqualFold(a.ID, req.ID) && (req.Agent == "" || a.Agent == req.Agent) {
			names = append(names, a.Agent)
		}
	}
	if len(names) > 1 {
		return keeper.Decided{}, fault.Hintf(fault.Errorf(fault.Usage, "%d agents ask for something with the id '%s'", len(names), req.ID), "say which: --agent %s", strings.Join(names, " or --agent "))
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
	if b := d.policies.Named(name); !ok && b != nil {
		return decideHere(b, req)
	}
	if !ok {
		return keeper.Decided{}, fault.Errorf(fault.NotFound, "no agent '%s' with a harness", name)
	}
	return decideAt(ctx, socket, req)
}

// decideClosed finds out why there is nothing to decide: somebody may have
// been faster.
func (d *daemon) decideClosed(ctx context.Context, req keeper.Decision, sockets map[string]string) (keeper.Decided, error) {
	for _, socket := range sockets {
		decided, err := decideAt(ctx, socket, req)
		if err == nil || fault.KindOf(err) == fault.Busy {
			return decided, err
		}
	}
	return keeper.Decided{}, fault.Hintf(fault.Errorf(fault.NotFound, "nothing with the id '%s' waits for a decision", req.ID), "'den approvals' lists what does")
}

// decideHere decides for an agent on a screen.
func decideHere(b *permission.Broker, req keeper.Decision) (keeper.Decided, error) {
	if req.Option != "approve" && req.Option != "deny" {
		return keeper.Decided{}, fault.Errorf(fault.Usage, "option %q: it is approve or deny", req.Option)
	}
	a, err := b.Decide(req.ID, permission.Answer{Approve: req.Option == "approve", Always: req.Always, By: req.By, Why: req.Why})
	return keeper.Decided{ID: a.ID, Agent: a.Agent, State: string(a.State), Always: a.Always, Note: a.Note, Request: judge.Told(a.Request)}, err
}

// decideAt has a harness decide.
func decideAt(ctx context.Context, socket string, req keeper.Decision) (keeper.Decided, error) {
	ctx, cancel := context.WithTimeout(ctx, harnessLimit)
	defer cancel()
	var decided keeper.Decided
	err := askHarness(ctx, socket, func(conn *ipc.Conn) error {
		_, err := conn.Call(ctx, ipc.Request{Type: ipc.Decide, Question: req.ID, Option: req.Option, Message: req.Text, Always: req.Always, By: req.By, Why: req.Why}, &decided)
		return err
	})
	return decided, err
}

// notByAgent refuses a decision that comes from a process of an agent's
// session, or that the caller makes for one: agents do not decide what agents
// may do.
func (d *daemon) notByAgent(ctx context.Context, call *rpc.Call, callsFor []int) error {
	pid, err := call.Process()
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "decide: who asks is not known: %w", err)
	}
	return d.notOfAgents(ctx, append([]int{pid}, callsFor...))
}

// notOfAgents refuses processes of agents.
func (d *daemon) notOfAgents(ctx context.Context, pids []int) error {
	if slices.ContainsFunc(pids, func(pid int) bool { return pty.HasEnv(pid, tree.RunnerMark) || pty.HasEnv(pid, agent.NameEnv) }) {
		return fault.Errorf(fault.Denied, "an agent does not decide what agents may do")
	}
	for _, m := range d.plan.now().members {
		p, err := d.providers.get(m.kind)
		if err != nil {
			continue // it has no sessions
		}
		lister, ok := p.(provider.ProcessLister)
		if !ok {
			continue
		}
		own, err := lister.Processes(ctx, m.SessionName())
		if err != nil {
			return fault.Errorf(fault.Denied, "decide: the processes of '%s' are not known: %w", m.Name(), err)
		}
		if slices.ContainsFunc(pids, func(pid int) bool { return slices.Contains(own, pid) }) {
			return fault.Errorf(fault.Denied, "'%s' is an agent: it does not decide what agents may do", m.Name())
		}
	}
	return nil
}

// harnessed lists the agents that have a harness.
func (d *daemon) harnessed() []member {
	return slices.DeleteFunc(slices.Collect(maps.Values(d.plan.now().members)), func(m member) bool { return d.socketOf(m) == "" })
}

// sockets returns where the harnesses listen, by agent.
func (d *daemon) sockets() map[string]string {
	all := map[string]string{}
	for _, m := range d.harnessed() {
		all[m.Name()] = d.socketOf(m)
	}
	return all
}

// askHarness connects to a harness for one exchange.
func askHarness(ctx context.Context, socket string, ask func(*ipc.Conn) error) error {
	conn, err := ipc.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was answered.
	err = ask(conn)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Errorf(fault.Unreachable, "a harness does not answer: %w", err)
	}
	return err
}
