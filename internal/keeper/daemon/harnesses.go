package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"den/internal/agent"
	"den/internal/agent/budget"
	"den/internal/agent/conversation"
	"den/internal/agent/harness"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/runner/drivers"
	"den/internal/base/fault"
	"den/internal/keeper/boxes"
	"den/internal/keeper/chatserver"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
)

// harnessDir is the state directory of an agent's harness.
func (d *site) harnessDir(key string) string {
	return d.state.Harness(key)
}

// harnessSocket is where the harness of an agent listens, "" for an agent that
// has none.
func (d *deps) harnessSocket(ag *workspace.Agent, key string) (string, error) {
	if !ag.ByProtocol() {
		return "", nil
	}
	if boxes.Is(ag) {
		return ipc.BoxSocketPath(d.harnessDir(key), d.getenv)
	}
	return ipc.OwnSocketPath(d.harnessDir(key), d.getenv)
}

// harnessed makes the session of an agent one of its harness. What the harness
// has to know is written down when the plan is accepted.
func (f *draft) harnessed(ag *workspace.Agent, name, key, session string, policy *sandbox.Policy, c *agent.SessionConfig) error {
	d, ws := f.d, f.ws
	if drivers.All[ag.Channel.Backend] == nil {
		return fault.Hintf(fault.Errorf(fault.Usage, "agent '%s': no backend '%s'", name, ag.Channel.Backend), "there are %v; it is set at %s", drivers.Names(), ag.Origin("agent"))
	}
	dend, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	hc := harness.Config{
		Workspace: ws.Name, Agent: name, Nick: chatserver.NickOf(name), Dir: c.WorkDir, Backend: ag.Channel.Backend, Command: ownCommand(ag),
		Model: ag.Channel.Model, Thinking: thinking(ag), SystemPrompt: joinPrompts(c.Prompt, ag.Channel.SystemPrompt), Options: ag.Channel.Options,
		Channels: ag.Channel.Channels, Tags: ag.Channel.Tags, TurnSilence: ag.Channel.TurnSilence,
		Quiet: harness.QuietHours{Start: ag.Channel.SleepStart, End: ag.Channel.SleepEnd}, BufferSize: ag.Channel.BufferSize,
		Owner: ag.Channel.Owner, OwnerByNick: ag.Channel.OwnerByNick, Permissions: permissionRules(ag), Protected: []string{d.state.Path, d.state.Chat()}, Decisive: d.state.Decisive(), ApprovalExpiry: ag.Channel.ApprovalExpiry,
		Budget: limits(ag.Channel.Budget), Supervisor: supervision(ws), Webhook: harness.Webhook(ws.Webhooks), Den: d.den, Sandbox: policy,
	}
	approve(ag, &hc)
	if len(hc.Channels) > 0 {
		if hc.Server, err = d.chat.For(ws.Server, hc.Nick); err != nil {
			return err
		}
	}
	if boxes.Is(ag) {
		if hc.Box, err = boxes.Of(d.factory(), ws, ag, session); err != nil {
			return err
		}
		if c.ProviderOptions, err = boxes.WithSocket(c.ProviderOptions, d.harnessDir(key), d.getenv); err != nil {
			return err
		}
	}
	data, err := json.Marshal(hc)
	if err != nil {
		return fmt.Errorf("agent '%s': %w", name, err)
	}
	if c.FingerprintExtra == nil {
		c.FingerprintExtra = map[string]string{}
	}
	c.FingerprintExtra["harness"] = string(data)
	dir := d.harnessDir(key)
	f.harnesses[dir] = hc
	c.Command, c.Prompt, c.PromptMode, c.Vendor = []string{dend, "harness", dir}, "", "none", conversation.Harness
	c.Hints.ReadyPromptPrefix, c.Hints.ReadyDelayMs, c.Hints.ProcessNames, c.Hints.EmitsPermissionWarning = "", 0, nil, false
	return nil
}

// thinking is how hard the agent thinks: of claude what the harness
// specification says, where the file does not, of others what they do by
// themselves.
func thinking(ag *workspace.Agent) string {
	if ag.Channel.Backend == "claude" {
		return cmp.Or(ag.Channel.Thinking, "medium")
	}
	return ag.Channel.Thinking
}

// joinPrompts is both texts, or the one that there is.
func joinPrompts(prompt, system string) string {
	return strings.TrimSpace(prompt + "\n\n" + system)
}

// ownCommand is how the agent itself is started: what the file says, or nil
// for what its backend knows.
func ownCommand(ag *workspace.Agent) []string {
	switch ag.Channel.Backend {
	case "script":
		return ag.Argv()
	case "acp":
		return ag.Channel.ACPCommand
	}
	return nil
}

func permissionRules(ag *workspace.Agent) []permission.Rule {
	return rulesOf(ag.Channel.Permissions)
}

func rulesOf(written []workspace.PermissionRule) []permission.Rule {
	var rules []permission.Rule
	for _, r := range written {
		rules = append(rules, permission.Rule{
			Outcome: permission.Outcome(r.Outcome), Tool: r.Tool, Kind: permission.Kind(r.Kind), Path: r.Path, Command: r.Command, Host: r.Host,
			Why: r.Why, Origin: r.At.String(),
		})
	}
	return rules
}

func limits(b workspace.Budget) budget.Limits {
	return budget.Limits{
		Hour: budget.Usage{Tokens: int64(b.TokensPerHour), CostUSD: b.CostPerHour, Turns: int64(b.TurnsPerHour)},
		Day:  budget.Usage{Tokens: int64(b.TokensPerDay), CostUSD: b.CostPerDay, Turns: int64(b.TurnsPerDay)},
	}
}

// supervision is that of the workspace: by an agent, or by fixed rules.
func supervision(ws *workspace.Workspace) harness.Supervision {
	s := ws.Supervisor
	backend := ""
	if s.IsMind() {
		backend = s.Agent
	}
	return harness.Supervision{Backend: backend, Command: s.Command, Model: s.Model, Thinking: s.Thinking, Window: s.WindowSize, Every: s.EvalInterval, Threshold: s.EscalationThreshold, Instructions: s.Instructions}
}
