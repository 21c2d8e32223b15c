package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
)

// How den's policy decides what an agent may do.
const (
	ByProtocol = "protocol" // the agent asks den
	ByHook     = "hook"     // its program calls den before it uses a tool
	ByServer   = "server"   // den answers what its program asks
	ByRules    = "rules"    // its program is told the rules when it starts
)

// policyBy is how den decides for the presets that it can decide for on a screen.
var policyBy = map[string]string{"claude": ByHook, "codex": ByHook, "copilot": ByHook, "gemini": ByRules, "opencode": ByServer}

// PolicyReach tells how den's policy decides for the agent, and, where it is "",
// why it does not.
func (a *Agent) PolicyReach() (how, why string) {
	switch how = policyBy[a.Provider]; {
	case a.Channel.Backend == "script":
		return "", "a script asks nobody"
	case a.IsMind():
		return ByProtocol, ""
	case how == "":
		return "", "its program has no hook that den knows"
	case !slices.Contains([]string{"native", "tmux"}, a.SessionProvider):
		return "", fmt.Sprintf("no hook reaches the keeper from a session of provider '%s'", a.SessionProvider)
	case len(a.StartCommand) == 0 || filepath.Base(a.StartCommand[0]) != a.Provider:
		return "", fmt.Sprintf("its command is not %s itself", a.Provider)
	case how == ByServer && a.StateSource == "screen":
		return "", "its server is not used: state_source is \"screen\""
	}
	return how, ""
}

// unobeyed warns of rules that nothing enforces.
func unobeyed(a *Agent) []string {
	how, why := a.PolicyReach()
	rules := a.Channel.Permissions
	if how == ByRules { // of what a file is called, or a host, its policy knows nothing
		why = a.Provider + " has no such rules"
		rules = slices.DeleteFunc(slices.Clone(rules), func(r PermissionRule) bool { return r.Path == "" && r.Host == "" })
	}
	if how != "" && how != ByRules || len(rules) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("agent '%s': %d of its permissions (%s) do not hold: %s", a.Name, len(rules), a.Origin("permissions"), why)}
}
