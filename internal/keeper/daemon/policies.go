package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/agent/toolhook"
	"den/internal/agent/toolhook/vendors"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// A screenPolicy is that of an agent which runs on a screen of its own.
type screenPolicy struct {
	agent    string // its name
	approval string // see workspace.Agent
	settings permission.Settings
}

// policies decide for agents that run on screens, by their keys.
type policies struct {
	mu      sync.Mutex // guards the fields below
	wanted  map[string]screenPolicy
	brokers map[string]*permission.Broker // those that were asked
	passed  map[string]string             // the command that a person allowed last, until codex requests approval for it
}

func newPolicies() *policies {
	return &policies{wanted: map[string]screenPolicy{}, brokers: map[string]*permission.Broker{}, passed: map[string]string{}}
}

// pass notes what a person allowed before codex asks for it.
func (ps *policies) pass(key string, r permission.Request) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.passed[key] = r.Command
}

// passes reports whether a person has allowed this, and forgets it.
func (ps *policies) passes(key string, r permission.Request) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	passes := r.Command != "" && ps.passed[key] == r.Command
	delete(ps.passed, key)
	return passes
}

// named returns what decides for the agent of a name, or nil.
func (ps *policies) named(agent string) *permission.Broker {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, p := range ps.wanted {
		if p.agent == agent {
			return ps.brokers[key]
		}
	}
	return nil
}

// approvals lists what waits for a person and what ended a short while ago, by
// agent.
func (ps *policies) approvals() (map[string]keeper.Approvals, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	all := map[string]keeper.Approvals{}
	for key, b := range ps.brokers {
		told := harness.ApprovalsOf(b)
		if len(told.Approvals)+len(told.Recent) == 0 {
			continue
		}
		data, err := json.Marshal(told)
		if err != nil {
			return nil, fault.Errorf(fault.Internal, "list approvals: %w", err)
		}
		if all[ps.wanted[key].agent], err = readApprovals(data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// replace puts others in force. Their settings were checked.
func (ps *policies) replace(wanted map[string]screenPolicy) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, b := range ps.brokers {
		p, stays := wanted[key]
		if !stays || p.agent != ps.wanted[key].agent {
			delete(ps.brokers, key)
			continue
		}
		if err := b.Configure(p.settings); err != nil {
			return err
		}
	}
	ps.wanted = wanted
	return nil
}

// of returns what decides for an agent, and keeps its records in dir.
func (ps *policies) of(key, dir string) (*permission.Broker, string, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.wanted[key]
	if !ok {
		return nil, "", fault.Errorf(fault.NotFound, "den does not decide for this agent")
	}
	if b := ps.brokers[key]; b != nil {
		return b, p.approval, nil
	}
	b, err := permission.OpenBroker(permission.Options{Dir: harness.PermissionDir(dir), Agent: p.agent, Settings: p.settings})
	if err != nil {
		return nil, "", err
	}
	ps.brokers[key] = b
	return b, p.approval, nil
}

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
		f.policies[key] = screenPolicy{agent: name, approval: ag.Approval, settings: s}
	}
	if !d.owner.keeps {
		return nil, nil // it starts nothing
	}
	socket, err := d.registration.Socket(d.getenv)
	if err != nil {
		return nil, err
	}
	hook := vendors.Hook{
		Den: d.den, Agent: name, Socket: socket, Dir: d.hookDir(key), Rules: s.Rules, Protected: s.Protected, Getenv: d.getenvOf(ag),
		Unasked: ag.Approval == workspace.ApprovalBypass,
	}
	return func(argv []string) ([]string, map[string]string, error) {
		launch, err := hook.HandIn(ag.Provider, argv)
		return launch.Argv, launch.Env, err
	}, nil
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
	broker, approval, err := h.d.policies.of(m.key, h.d.mindDir(m.key))
	if err != nil {
		return nil, err
	}
	r, err := vendors.RequestOf(use.Vendor, use.Input)
	if err != nil {
		return nil, err
	}
	if use.Vendor == "codex" {
		return h.d.judgeCodex(ctx, m.key, broker, approval, use.Moment, r), nil
	}
	return judged(broker.Judge(r, approval != "")), nil
}

func judged(outcome permission.Outcome, why string) keeper.Judged {
	return keeper.Judged{Outcome: string(outcome), Why: why}
}

// judgeCodex asks the policy for codex, which before a tool can only be told no,
// and asks by itself for little. So what a rule asks for waits here until a
// person decides, as an approval; what else is to be asked for is left to codex.
func (d *daemon) judgeCodex(ctx context.Context, key string, b *permission.Broker, approval, moment string, r permission.Request) keeper.Judged {
	if moment == toolhook.OnRequest {
		if d.policies.passes(key, r) {
			return keeper.Judged{Outcome: toolhook.Allow, Why: "a person has allowed it"}
		}
		return judged(b.Judge(r, approval != ""))
	}
	outcome, why := b.Check(r)
	if outcome != permission.Ask {
		return judged(outcome, why)
	}
	decision := b.Ask(ctx, r)
	if !decision.Allow {
		return keeper.Judged{Outcome: toolhook.Deny, Why: decision.Reason}
	}
	d.policies.pass(key, r)
	return keeper.Judged{}
}

// judgeOnServer asks the policy for an agent whose server asks den.
func (d *deps) judgeOnServer(vendorName, key string) func(string, json.RawMessage) sources.Verdict {
	return func(tool string, input json.RawMessage) sources.Verdict {
		broker, approval, err := d.policies.of(key, d.mindDir(key))
		if err != nil {
			log.Printf("judge for '%s': %v", key, err)
			return sources.Verdict{} // a person is asked
		}
		outcome, why := broker.Judge(vendors.UseOf(vendorName, tool, input), approval != "")
		return sources.Verdict{Decided: outcome == permission.Allow || outcome == permission.Deny, Allow: outcome == permission.Allow, Why: why}
	}
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
