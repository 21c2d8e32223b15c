package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"den/internal/agent"
	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/judge"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// getenvOf returns a variable as an agent sees it.
func (d *site) getenvOf(ag *workspace.Agent) func(string) string {
	return func(key string) string {
		if value, ok := ag.Env.Values[key]; ok {
			return value
		}
		return d.getenv(key)
	}
}

// policySettings are those of the policy of an agent, which its harness makes of
// its configuration alike.
func (d *site) policySettings(ag *workspace.Agent, rules []permission.Rule) permission.Settings {
	c := harness.Config{Dir: ag.Dir, Permissions: rules, Decisive: d.state.Decisive()}
	approve(ag, &c)
	return c.Policy(d.state.Path, d.getenvOf(ag)("HOME"))
}

// approve puts an agent's approval into its configuration.
func approve(ag *workspace.Agent, c *harness.Config) {
	c.Bypass, c.AskEdits = ag.Approval == workspace.ApprovalBypass, ag.Approval == workspace.ApprovalAsk
}

// policed makes den's policy decide in an agent that runs on a screen, and returns
// what its program is handed for that when it starts; nil for nothing.
func (f *draft) policed(ag *workspace.Agent, name, key string) (agent.Preparer, error) {
	d := f.d
	how, _ := ag.PolicyReach()
	if how == "" || how == workspace.ByProtocol {
		return nil, nil
	}
	s := d.policySettings(ag, permissionRules(ag))
	if _, err := permission.NewPolicy(s); err != nil {
		return nil, fmt.Errorf("agent '%s': %w", name, err)
	}
	if how != workspace.ByRules {
		f.policies[key] = judge.Policy{Agent: name, Approval: ag.Approval, Settings: s}
	}
	if !d.owner.keeps {
		return nil, nil // it starts nothing
	}
	socket, err := d.registration.Socket(d.getenv)
	if err != nil {
		return nil, err
	}
	return judge.Preparer(judge.Hook{
		Den: d.den, Agent: name, Socket: socket, Dir: d.hookDir(key), Rules: s.Rules, Protected: s.Protected, Getenv: d.getenvOf(ag),
		Unasked: ag.Approval == workspace.ApprovalBypass,
	}, ag.Provider), nil
}

// hookDir is where the files of an agent's hook are.
func (d *site) hookDir(key string) string { return filepath.Join(d.mindDir(key), "hook") }

// judge decides what an agent may do, for the hook of its program. Only processes
// of the agent's own session are answered: others would write its audit log.
func (h *handler) judge(ctx context.Context, call *rpc.Call) (any, error) {
	var use keeper.ToolUse
	if err := call.Decode(&use); err != nil {
		return nil, err
	}
	m, err := h.d.find(use.Agent)
	if err == nil {
		err = h.d.ofAgent(ctx, call, m)
	}
	if err != nil {
		return nil, err
	}
	return h.d.policies.Use(ctx, m.key, h.d.mindDir(m.key), use)
}

// ofAgent refuses callers that are no processes of an agent's session.
func (d *daemon) ofAgent(ctx context.Context, call *rpc.Call, m member) error {
	pid, err := call.Process()
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "judge for '%s': who asks is not known: %w", m.Name(), err)
	}
	p, err := d.providers.get(m.kind)
	if err != nil {
		return err
	}
	lister, ok := p.(provider.ProcessLister)
	if !ok {
		return fault.Errorf(fault.Denied, "judge for '%s': its processes are not known", m.Name())
	}
	own, err := lister.Processes(ctx, m.SessionName())
	if err != nil {
		return fault.Errorf(fault.Denied, "judge for '%s': its processes are not known: %w", m.Name(), err)
	}
	if !slices.Contains(own, pid) {
		return fault.Errorf(fault.Denied, "judge for '%s': process %d is none of its own", m.Name(), pid)
	}
	return nil
}
