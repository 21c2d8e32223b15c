package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/toolhook/vendors"
	"den/internal/keeper"
	"den/internal/place/workspace"
)

// Explain says what the policy of an agent would decide, and why.
func Explain(ag *workspace.Agent, policy *permission.Policy, r keeper.ApprovalRequest) (keeper.PermissionAnswer, error) {
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
