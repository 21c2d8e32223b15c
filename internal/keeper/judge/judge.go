// Package judge applies den's policy to agents that are driven by their screens,
// and explains its decisions.
package judge

import (
	"context"
	"encoding/json"
	"log"
	"sync"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/agent/toolhook"
	"den/internal/agent/toolhook/vendors"
	"den/internal/base/fault"
	"den/internal/keeper"
)

// A Policy is that of an agent which runs on a screen of its own.
type Policy struct {
	Agent    string // its name
	Approval string // see workspace.Agent
	Settings permission.Settings
}

// Screens decide for agents that run on screens, by their keys.
type Screens struct {
	mu      sync.Mutex // guards the fields below
	wanted  map[string]Policy
	brokers map[string]*permission.Broker // those that were asked
	passed  map[string]string             // the command that a person allowed last, until codex requests approval for it
}

// New returns what decides for nobody yet.
func New() *Screens {
	return &Screens{wanted: map[string]Policy{}, brokers: map[string]*permission.Broker{}, passed: map[string]string{}}
}

// pass notes what a person allowed before codex asks for it.
func (ps *Screens) pass(key string, r permission.Request) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.passed[key] = r.Command
}

// passes reports whether a person has allowed this, and forgets it.
func (ps *Screens) passes(key string, r permission.Request) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	passes := r.Command != "" && ps.passed[key] == r.Command
	delete(ps.passed, key)
	return passes
}

// Named returns what decides for the agent of a name, or nil.
func (ps *Screens) Named(agent string) *permission.Broker {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, p := range ps.wanted {
		if p.Agent == agent {
			return ps.brokers[key]
		}
	}
	return nil
}

// Approvals lists what waits for a person and what ended a short while ago, by
// agent.
func (ps *Screens) Approvals() (map[string]keeper.Approvals, error) {
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
		if all[ps.wanted[key].Agent], err = keeper.ReadApprovals(data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Replace puts others in force. Their settings were checked.
func (ps *Screens) Replace(wanted map[string]Policy) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, b := range ps.brokers {
		p, stays := wanted[key]
		if !stays || p.Agent != ps.wanted[key].Agent {
			delete(ps.brokers, key)
			continue
		}
		if err := b.Configure(p.Settings); err != nil {
			return err
		}
	}
	ps.wanted = wanted
	return nil
}

// Of returns what decides for an agent, and keeps its records in dir.
func (ps *Screens) Of(key, dir string) (*permission.Broker, string, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.wanted[key]
	if !ok {
		return nil, "", fault.Errorf(fault.NotFound, "den does not decide for this agent")
	}
	if b := ps.brokers[key]; b != nil {
		return b, p.Approval, nil
	}
	b, err := permission.OpenBroker(permission.Options{Dir: harness.PermissionDir(dir), Agent: p.Agent, Settings: p.Settings})
	if err != nil {
		return nil, "", err
	}
	ps.brokers[key] = b
	return b, p.Approval, nil
}

// Use decides about the use of a tool, for the hook of the agent's program. The
// agent's records are kept in dir.
func (ps *Screens) Use(ctx context.Context, key, dir string, use keeper.ToolUse) (keeper.Judged, error) {
	broker, approval, err := ps.Of(key, dir)
	if err != nil {
		return keeper.Judged{}, err
	}
	r, err := vendors.RequestOf(use.Vendor, use.Input)
	if err != nil {
		return keeper.Judged{}, err
	}
	if use.Vendor == "codex" {
		return ps.codex(ctx, key, broker, approval, use.Moment, r), nil
	}
	return judged(broker.Judge(r, approval != "")), nil
}

func judged(outcome permission.Outcome, why string) keeper.Judged {
	return keeper.Judged{Outcome: string(outcome), Why: why}
}

// codex asks the policy for codex, which before a tool can only be told no,
// and asks by itself for little. So what a rule asks for waits here until a
// person decides, as an approval; what else is to be asked for is left to codex.
func (ps *Screens) codex(ctx context.Context, key string, b *permission.Broker, approval, moment string, r permission.Request) keeper.Judged {
	if moment == toolhook.OnRequest {
		if ps.passes(key, r) {
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
	ps.pass(key, r)
	return keeper.Judged{}
}

// OnServer asks the policy for an agent whose server asks den.
func (ps *Screens) OnServer(vendorName, key, dir string) func(string, json.RawMessage) sources.Verdict {
	return func(tool string, input json.RawMessage) sources.Verdict {
		broker, approval, err := ps.Of(key, dir)
		if err != nil {
			log.Printf("judge for '%s': %v", key, err)
			return sources.Verdict{} // a person is asked
		}
		outcome, why := broker.Judge(vendors.UseOf(vendorName, tool, input), approval != "")
		return sources.Verdict{Decided: outcome == permission.Allow || outcome == permission.Deny, Allow: outcome == permission.Allow, Why: why}
	}
}

// Hook is how the program of an agent is made to ask.
type Hook = vendors.Hook

// Preparer hands a hook to the program of a vendor when it starts.
func Preparer(h Hook, vendor string) agent.Preparer {
	return func(argv []string) ([]string, map[string]string, error) {
		launch, err := h.HandIn(vendor, argv)
		return launch.Argv, launch.Env, err
	}
}
