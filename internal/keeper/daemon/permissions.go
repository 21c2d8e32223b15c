package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"den/internal/agent"
	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/judge"
	"den/internal/keeper/trees"
	"den/internal/place/decisive"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

const verbPermissions = "permissions"

// permissionsAlone is 'dend permissions explain|replay QUESTION'. It prints
// one object: the answer, or an error.
func permissionsAlone(o options, environ []string, stdout io.Writer) error {
	answer, err := answerPermissions(o, environ)
	return sayAlone(stdout, &answer, err)
}

// sayAlone prints what a verb without a keeper has found out, or its error.
func sayAlone[T any](stdout io.Writer, result *T, err error) error {
	var said struct {
		Result *T         `json:"result,omitempty"`
		Error  *rpc.Error `json:"error,omitempty"`
	}
	if said.Result = result; err != nil {
		said.Result, said.Error = nil, rpc.FromError(err)
	}
	return json.NewEncoder(stdout).Encode(said)
}

func answerPermissions(o options, environ []string) (keeper.PermissionAnswer, error) {
	if len(o.verb) != 3 {
		return keeper.PermissionAnswer{}, fault.Errorf(fault.Usage, "dend permissions: it needs explain or replay, and a question")
	}
	d, err := openSite(o, environ, keeper.StateDir.Identify)
	if err != nil && fault.KindOf(err) != fault.NotFound { // that of a workspace that never was up
		return keeper.PermissionAnswer{}, err
	}
	ws, err := d.read()
	if err != nil {
		return keeper.PermissionAnswer{}, err
	}
	switch verb, question := o.verb[1], []byte(o.verb[2]); verb {
	case "explain":
		var ask keeper.PermissionQuestion
		if err := json.Unmarshal(question, &ask); err != nil {
			return keeper.PermissionAnswer{}, fault.Errorf(fault.Usage, "read the question: %w", err)
		}
		return d.explainPermission(ws, ask)
	case "replay":
		var ask keeper.PermissionReplay
		if err := json.Unmarshal(question, &ask); err != nil {
			return keeper.PermissionAnswer{}, fault.Errorf(fault.Usage, "read the question: %w", err)
		}
		return d.replayPermissions(ws, ask)
	default:
		return keeper.PermissionAnswer{}, fault.Errorf(fault.Usage, "dend permissions: it explains or replays, and knows no %q", verb)
	}
}

func (d *site) explainPermission(ws *workspace.Workspace, ask keeper.PermissionQuestion) (keeper.PermissionAnswer, error) {
	ag, err := ws.Agent(ask.Agent)
	if err != nil {
		return keeper.PermissionAnswer{}, err
	}
	policy, err := d.policyNow(ws, ag, permissionRules(ag))
	if err != nil {
		return keeper.PermissionAnswer{}, err
	}
	return judge.Explain(ag, policy, ask.Request)
}

func (d *site) replayPermissions(ws *workspace.Workspace, ask keeper.PermissionReplay) (keeper.PermissionAnswer, error) {
	var others []workspace.PermissionRule
	if ask.Rules != "" {
		var err error
		if others, err = workspace.LoadRules(ask.Rules); err != nil {
			return keeper.PermissionAnswer{}, err
		}
	}
	entries, damaged, err := d.audits()
	if err != nil {
		return keeper.PermissionAnswer{}, err
	}
	for _, name := range ask.Agents {
		if _, err := ws.Agent(name); err != nil {
			return keeper.PermissionAnswer{}, err
		}
	}
	policies := map[string]*permission.Policy{}
	gone := []string{} // agents that the workspace has no more
	for _, e := range entries {
		if _, known := policies[e.Agent]; known || len(ask.Agents) > 0 && !slices.Contains(ask.Agents, e.Agent) {
			continue
		}
		policies[e.Agent] = nil
		ag, err := ws.Agent(e.Agent)
		if err != nil {
			gone = append(gone, e.Agent)
			continue
		}
		rules := permissionRules(ag)
		if ask.Rules != "" {
			rules = rulesOf(others)
		}
		if policies[e.Agent], err = d.policyNow(ws, ag, rules); err != nil {
			return keeper.PermissionAnswer{}, err
		}
	}
	since := time.Time{}
	if ask.Since > 0 {
		since = time.Now().Add(-ask.Since)
	}
	r := permission.Replay(entries, since, policies)
	return keeper.AnswerPermission(struct {
		permission.Replayed
		Gone    []string `json:"gone,omitempty"`    // agents that the workspace has no more: their requests were left out
		Damaged int      `json:"damaged,omitempty"` // lines of the logs that could not be read
	}{r, gone, damaged}, d.nothingToReplay(r, entries)+judge.ReplayText(r, gone, damaged))
}

// policyNow is the policy of an agent as the workspace's file has it now, with
// other rules, and with those that people added.
func (d *site) policyNow(ws *workspace.Workspace, ag *workspace.Agent, rules []permission.Rule) (*permission.Policy, error) {
	single := ag.Named(ag.Name)
	trees.Locate(d.registration.Worktrees(), ws, single, "") // it works in its worktree
	dir, err := d.harnessDirOf(ag.Name)
	if err != nil {
		return nil, err
	}
	s := d.policySettings(single, rules)
	// The keeper's list of these files is of the file that is in force; of a
	// workspace that never was up there is none.
	s.Workspace = func() ([]decisive.File, error) {
		return ws.Decisive(func(*workspace.Agent) []string { return nil }), nil
	}
	return permission.WithRemembered(s, harness.PermissionDir(dir))
}

// harnessDirOf finds the state directory of an agent's harness.
func (d *site) harnessDirOf(name string) (string, error) {
	dirs, err := d.harnessDirs()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if c, err := harness.Load(dir); err == nil && c.Agent == name {
			return dir, nil
		}
	}
	return d.harnessDir(name), nil // that of an agent that was never started
}

// harnessDirs are the state directories of all harnesses, of agents that are no more
// too.
func (d *site) harnessDirs() ([]string, error) {
	entries, err := os.ReadDir(d.state.Harnesses())
	if err != nil && !os.IsNotExist(err) {
		return nil, fault.Errorf(fault.Storage, "list agents' state: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(d.state.Harnesses(), e.Name()))
	}
	return dirs, nil
}

// audits reads the audit logs of all agents, those that are no more too.
func (d *site) audits() (all []permission.Entry, damaged int, err error) {
	dirs, err := d.harnessDirs()
	if err != nil {
		return nil, 0, err
	}
	for _, dir := range dirs {
		entries, bad, err := permission.ReadAudit(harness.PermissionDir(dir))
		if err != nil {
			return nil, 0, fmt.Errorf("read the audit log in %s: %w", dir, err)
		}
		all, damaged = append(all, entries...), damaged+bad
	}
	return all, damaged, nil
}

// nothingToReplay says why no request was decided again, "" where some were.
func (d *site) nothingToReplay(r permission.Replayed, entries []permission.Entry) string {
	kept := 0
	for _, e := range entries {
		if e.Event == permission.ByPolicy || e.Event == permission.Asked {
			kept++
		}
	}
	switch {
	case r.Requests > 0:
		return ""
	case kept > 0:
		return fmt.Sprintf("nothing to replay: none of the %d requests in the audit logs is of these agents and as recent as --since wants\n", kept)
	}
	return fmt.Sprintf("nothing to replay: the audit logs have no requests. What agents ask den for while they work gets there, after 'den up': %s\n", harness.PermissionDir(filepath.Join(d.state.Harnesses(), "AGENT")))
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
	}, ag.Preset), nil
}

// hookDir is where the files of an agent's hook are.
func (d *site) hookDir(key string) string { return filepath.Join(d.harnessDir(key), "hook") }

// judge decides what an agent may do, for the hook of its program. Only processes
// of the agent's own session are answered: others would write its audit log.
func (d *daemon) judge(ctx context.Context, call *rpc.Call, use keeper.ToolUse) (any, error) {
	m, err := d.find(use.Agent)
	if err == nil {
		err = d.ofAgent(ctx, call, m)
	}
	if err != nil {
		return nil, err
	}
	return d.policies.Use(ctx, m.key, d.harnessDir(m.key), use)
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
