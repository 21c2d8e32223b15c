package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/agent/harness"
	"den/internal/agent/permission"
	"den/internal/agent/toolhook/vendors"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/trees"
	"den/internal/place/decisive"
	"den/internal/place/workspace"
)

const verbPermissions = "permissions"

// permissionsAlone is 'dend permissions explain|replay QUESTION'. It prints
// one object: the answer, or an error.
func permissionsAlone(o options, environ []string, stdout io.Writer) error {
	var said struct {
		Result *keeper.PermissionAnswer `json:"result,omitempty"`
		Error  *rpc.Error               `json:"error,omitempty"`
	}
	answer, err := answerPermissions(o, environ)
	if said.Result = &answer; err != nil {
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

func told(object any, text string) (keeper.PermissionAnswer, error) {
	data, err := json.Marshal(object) // den escapes what misleads when it prints
	return keeper.PermissionAnswer{Object: data, Text: text}, err
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
	r := ask.Request
	if how, _ := ag.PolicyReach(); r.Dir == "" && tellsDir(ag, how) {
		r.Dir = policy.Dir()
	}
	kind := permission.Kind(r.Kind)
	if kind == "" { // a tool alone
		kind = vendors.UseOf(cmp.Or(ag.Channel.Backend, ag.Provider), r.Tool, nil).Kind
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
	return told(struct {
		Agent string `json:"agent"`
		permission.Explanation
		Reach string `json:"reach,omitempty"` // why the program may do otherwise, or ""
	}{ag.Name, e, reach}, text.String())
}

// reachOf says why an agent's program may do otherwise than the policy says, or "".
// decides is false where the program, and not den, decides.
func reachOf(ag *workspace.Agent, kind permission.Kind, e permission.Explanation) (reach string, decides bool) {
	how, why := ag.PolicyReach()
	hooked := how == workspace.ByHook && ag.Provider == "codex"
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
		return fmt.Sprintf("%s is told rules for commands, tools and kinds only: what else is asked, its program decides", ag.Provider), told || e.Outcome == permission.Deny && e.Rule == nil
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
	return told(struct {
		permission.Replayed
		Gone    []string `json:"gone,omitempty"`    // agents that the workspace has no more: their requests were left out
		Damaged int      `json:"damaged,omitempty"` // lines of the logs that could not be read
	}{r, gone, damaged}, d.nothingToReplay(r, entries)+replayText(r, gone, damaged))
}

// policyNow is the policy of an agent as the workspace's file has it now, with
// other rules, and with those that people added.
func (d *site) policyNow(ws *workspace.Workspace, ag *workspace.Agent, rules []permission.Rule) (*permission.Policy, error) {
	single := ag.Named(ag.Name)
	trees.Place(d.registration.Worktrees(), ws, single, "") // it works in its worktree
	dir, err := d.mindOf(ag.Name)
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

// mindOf finds the state directory of an agent's harness.
func (d *site) mindOf(name string) (string, error) {
	dirs, err := d.mindDirs()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if c, err := harness.Load(dir); err == nil && c.Agent == name {
			return dir, nil
		}
	}
	return d.mindDir(name), nil // that of an agent that was never started
}

// mindDirs are the state directories of all harnesses, of agents that are no more
// too.
func (d *site) mindDirs() ([]string, error) {
	entries, err := os.ReadDir(d.state.Minds())
	if err != nil && !os.IsNotExist(err) {
		return nil, fault.Errorf(fault.Storage, "list agents' state: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(d.state.Minds(), e.Name()))
	}
	return dirs, nil
}

// audits reads the audit logs of all agents, those that are no more too.
func (d *site) audits() (all []permission.Entry, damaged int, err error) {
	dirs, err := d.mindDirs()
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
	return fmt.Sprintf("nothing to replay: the audit logs have no requests. What agents ask den for while they work gets there, after 'den up': %s\n", harness.PermissionDir(filepath.Join(d.state.Minds(), "AGENT")))
}

func replayText(r permission.Replayed, gone []string, damaged int) string {
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
			fmt.Fprintf(&text, "  %s: %s%s: %s\n", x.Agent, wanted(x.Request).What(), note, x.Why)
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
