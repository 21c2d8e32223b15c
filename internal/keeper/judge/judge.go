// Package judge applies den's policy to agents that are driven by their screens,
// and explains its decisions.
package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/agent/toolhook"
	"den/internal/agent/toolhook/vendors"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/workspace"
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
		ps.mu.Lock()
		passes := r.Command != "" && ps.passed[key] == r.Command
		delete(ps.passed, key)
		ps.mu.Unlock()
		if passes {
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
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.passed[key] = r.Command
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

// Explain says what the policy of an agent would decide, and why.
func Explain(ag *workspace.Agent, policy *permission.Policy, r keeper.ApprovalRequest) (keeper.PermissionAnswer, error) {
	if how, _ := ag.PolicyReach(); r.Dir == "" && tellsDir(ag, how) {
		r.Dir = policy.Dir()
	}
	kind := permission.Kind(r.Kind)
	if kind == "" { // a tool alone
		kind = vendors.UseOf(cmp.Or(ag.Channel.Backend, ag.Preset), r.Tool, nil).Kind
	}
	e := policy.Explain(permission.Request{Tool: r.Tool, Kind: kind, Command: r.Command, Dir: r.Dir, Paths: r.Paths, URL: r.URL})
	reach, decides := reachOf(ag, kind, e)
	var text strings.Builder
	if !decides {
		fmt.Fprintf(&text, "den does not decide this: %s\nif it were asked: ", reach)
	}
	fmt.Fprintf(&text, "%s: %s\n", e.Outcome, e.Why)
	for _, part := range e.Parts {
		if len(e.Parts) > 1 {
			fmt.Fprintf(&text, "  %s: %s: %s\n", part.Outcome, part.What, part.Why)
		}
	}
	if e.Rule == nil {
		fmt.Fprintf(&text, "no rule of '%s' decides this: the default does ('den help permissions')\n", ag.Name)
	}
	if decides && reach != "" {
		fmt.Fprintln(&text, reach)
	}
	return keeper.AnswerPermission(struct {
		Agent string `json:"agent"`
		permission.Explanation
		Reach string `json:"reach,omitempty"` // why the program may do otherwise, or ""
	}{ag.Name, e, reach}, text.String())
}

// reachOf says why an agent's program may do otherwise than the policy says, or "".
// decides is false where the program, and not den, decides.
func reachOf(ag *workspace.Agent, kind permission.Kind, e permission.Explanation) (reach string, decides bool) {
	how, why := ag.PolicyReach()
	hooked := how == workspace.ByHook && ag.Preset == "codex"
	switch {
	case how == "":
		return fmt.Sprintf("the program of '%s' does as it does (%s)", ag.Name, why), false
	case how == workspace.ByProtocol:
		return "", true
	case how == workspace.ByRules:
		if kind == permission.Execute && e.Rule != nil && !slices.ContainsFunc(e.Parts, untold) {
			return "", true
		}
		told := e.Rule != nil && vendors.GeminiTakes(*e.Rule)
		return fmt.Sprintf("%s is told rules for commands, tools and kinds only: what else is asked, its program decides", ag.Preset), told || e.Outcome == permission.Deny && e.Rule == nil
	case hooked && kind != permission.Execute && kind != permission.Edit:
		return "codex tells den of commands and patches only: about its tools that read, search and plan it decides itself", false
	case hooked && ag.Approval != workspace.ApprovalBypass && !e.Decides(kind, false):
		unasked := "change nothing and reach no network"
		if ag.Approval == workspace.ApprovalEdits {
			unasked = "change files in its directory and /tmp only, and reach no network"
		}
		return "codex' own sandbox runs commands unasked that " + unasked + "; den decides about others, which codex asks for", false
	case e.Decides(kind, ag.Approval != ""):
		return "", true
	case ag.Approval == "":
		return fmt.Sprintf("'%s' has a command line of its own: what no rule decides, its program does", ag.Name), false
	}
	return fmt.Sprintf("the program of '%s' decides about tools that den does not know, questions and plans", ag.Name), false
}

// untold reports that a rule decides which a program that is told rules at its
// start does not get.
func untold(part permission.Part) bool {
	return part.Rule != nil && !vendors.GeminiTakes(*part.Rule)
}

// tellsDir reports whether an agent tells den where each command would run.
func tellsDir(ag *workspace.Agent, how string) bool {
	if how == workspace.ByProtocol {
		return slices.Contains([]string{"claude", "codex"}, ag.Channel.Backend)
	}
	return how == workspace.ByHook
}

// ReplayText tells of a replay. gone are agents that the workspace has no more.
func ReplayText(r permission.Replayed, gone []string, damaged int) string {
	var text strings.Builder
	if r.Requests > 0 {
		fmt.Fprintf(&text, "%d requests; %d would get the same\n", r.Requests, r.Same)
	}
	for _, m := range r.Moves {
		fmt.Fprintf(&text, "%d from %s to %s", m.Count, m.From, m.To)
		if m.From == permission.Ask {
			fmt.Fprintf(&text, " (people approved %d and denied %d)", m.Approved, m.Denied)
		}
		fmt.Fprintln(&text)
		for _, x := range m.Examples {
			note := ""
			if x.Count > 1 {
				note = fmt.Sprintf(", %d times", x.Count)
			}
			if x.Denied > 0 {
				note += fmt.Sprintf(", denied by a person %d of %d times", x.Denied, x.Count)
			}
			fmt.Fprintf(&text, "  %s: %s%s: %s\n", x.Agent, Told(x.Request).What(), note, x.Why)
		}
	}
	if len(gone) > 0 {
		fmt.Fprintf(&text, "left out: requests of %s, which the workspace has no more\n", strings.Join(gone, ", "))
	}
	if damaged > 0 {
		fmt.Fprintf(&text, "left out: %d lines that cannot be read\n", damaged)
	}
	return text.String()
}

// Told is a request as it is told.
func Told(r permission.Request) keeper.ApprovalRequest {
	return keeper.ApprovalRequest{Tool: r.Tool, Kind: string(r.Kind), Command: r.Command, Dir: r.Dir, Paths: r.Paths, URL: r.URL, Text: r.Text, Choices: r.Choices}
}
