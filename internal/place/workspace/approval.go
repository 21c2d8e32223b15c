package workspace

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What an agent asks a person before it acts, with the same words for every vendor.
const (
	ApprovalAsk    = "ask"    // edits and commands, except what is known to be harmless
	ApprovalEdits  = "edits"  // commands; it edits files in its directory unasked
	ApprovalBypass = "bypass" // nothing but files that decide what runs
)

// ApprovalUnknown is shown where den cannot tell what an agent asks, because its
// arguments or variables may change that. No file may have it.
const ApprovalUnknown = "unknown"

var approvals = []string{ApprovalAsk, ApprovalEdits, ApprovalBypass}

// ownCommandLine is the origin of an approval that the agent's own command decides,
// not a preset.
var ownCommandLine = Origin{Derived: "decided by its own command line"}

// ShownApproval returns what den shows as the agent's approval: Approval, or
// ApprovalUnknown and the reason.
func (a *Agent) ShownApproval() (word, why string) {
	if a.doubt != "" {
		return ApprovalUnknown, a.doubt
	}
	return a.Approval, ""
}

// doubted marks an approval in doubt as unknown in the settings that Explain shows.
func (a *Agent) doubted() {
	for i, s := range a.settings {
		if s.Key == "approval" && a.doubt != "" {
			a.settings[i].Value, a.settings[i].Origins = ApprovalUnknown, append([]Origin{{Derived: a.doubt}}, s.Origins...)
		}
	}
}

// approval adds what the preset has for the agent's `approval` to its arguments and
// variables. If the preset has nothing, the agent's own command line decides. For an
// agent that is driven by protocol den's policy decides. It returns why den does not
// know what the agent asks, or "".
func (a *resolver) approval(merged *node, preset, backend string) (doubt string) {
	var modes ApprovalModes
	var from Origin
	if n := merged.get("approval_modes"); n != nil {
		decode(n, &modes, "approval_modes", a.report)
		from = n.origin
		merged.remove("approval_modes")
	}
	said, name := merged.get("approval"), nameOf(merged)
	if said.kind != scalarNode {
		return "" // decode says what is wrong
	}
	if message := notOneOf("approval", said.text, approvals); message != "" {
		a.report.add(whereSaid(said, merged), "agent '%s': %s", name, message)
		return ""
	}
	switch {
	case backend != "" && backend != "script":
		checkOptions(merged.get("options"), builtinModes(backend), name, a.report)
		if backend == "acp" {
			doubt = a.askByACP(merged, name)
		} else if said.text != ApprovalBypass {
			doubt = builtinModes(backend).doubtedBy(merged.get("env"), backend)
		}
		return doubt
	case modes.none():
		if said.origin.File != "" && said != a.tree.get("defaults").get("approval") {
			a.report.add(said.origin, "agent '%s': 'approval' is for presets of coding agents: what this agent asks is decided by its own command line", name)
		}
		told, doubt := toldBy(merged)
		merged.set("approval", newScalar(told, ownCommandLine))
		return doubt
	case modes.of(said.text) == nil:
		a.report.add(whereSaid(said, merged), "agent '%s': %s cannot do approval = \"%s\"%s: write approval = %s", name, preset, said.text, because(modes.Cannot[said.text]), modes.words())
	default:
		modes.checkOwn(merged, "args", name, a.report)
		if word := modes.unknown(texts(merged.get("args"))); word != "" && said.text != ApprovalBypass {
			doubt = doubtOf("args", word)
		}
		if doubt == "" && said.text != ApprovalBypass {
			doubt = modes.doubtedBy(merged.get("env"), preset)
		}
		modes.of(said.text).lay(merged, from)
	}
	return doubt
}

// askByACP configures a known program to ask den by the Agent Client Protocol,
// whatever its own settings allow, so that the policy decides.
func (a *resolver) askByACP(merged *node, name string) (doubt string) {
	words := texts(merged.get("acp_command"))
	if len(words) == 0 {
		return ""
	}
	program := path.Base(words[0])
	modes := builtinModes(program)
	if modes.Ask == nil {
		_, doubt = toldBy(&node{kind: tableNode, entries: []entry{{"start_command", merged.get("acp_command")}}})
		return doubt
	}
	modes.checkOwn(merged, "acp_command", name, a.report)
	if word := modes.unknown(words[1:]); word != "" {
		doubt = doubtOf("acp_command", word)
	} else if merged.get("approval").text != ApprovalBypass {
		doubt = modes.doubtedBy(merged.get("env"), program)
	}
	if modes.Protocol != nil {
		modes.Protocol.lay(merged, Origin{Preset: program})
	}
	return doubt
}

func doubtOf(key, word string) string {
	return fmt.Sprintf("'%s' has %s, and den does not know what it does to approvals", key, word)
}

func nameOf(merged *node) string {
	if n := merged.get("name"); n != nil {
		return n.text
	}
	return ""
}

// whereSaid returns the line of `approval`, or the agent's line if it is den's
// default.
func whereSaid(said, merged *node) Origin {
	if said.origin.File != "" {
		return said.origin
	}
	return merged.origin
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func (m ApprovalModes) of(word string) *ApprovalMode { // or nil
	return map[string]*ApprovalMode{ApprovalAsk: m.Ask, ApprovalEdits: m.Edits, ApprovalBypass: m.Bypass}[word]
}

func (m ApprovalModes) none() bool { return m.Ask == nil && m.Edits == nil && m.Bypass == nil }

// words are those that the program can do, quoted, for messages.
func (m ApprovalModes) words() string {
	var can []string
	for _, word := range approvals {
		if m.of(word) != nil {
			can = append(can, `"`+word+`"`)
		}
	}
	return strings.Join(can, " or ")
}

// builtinModes are those of a preset of den's own.
func builtinModes(preset string) ApprovalModes {
	var modes ApprovalModes
	if n := builtin.Get().get("presets").get(preset).get("approval_modes"); n != nil {
		decode(n, &modes, "approval_modes", &report{}) // den's own file: a test reads all of it
	}
	return modes
}

// lay puts the mode's arguments before the agent's own, and its variables among
// them.
func (m *ApprovalMode) lay(merged *node, at Origin) {
	if len(m.Args) > 0 {
		args := &node{kind: listNode, origin: at}
		for _, word := range m.Args {
			args.items = append(args.items, newScalar(word, at))
		}
		if own := merged.get("args"); own != nil && own.kind == listNode {
			args.items = append(args.items, own.items...)
		}
		merged.set("args", args)
	}
	if len(m.Env) > 0 {
		env := &node{kind: tableNode, origin: at}
		if own := merged.get("env"); own != nil {
			env = own.clone()
		}
		for _, key := range slices.Sorted(maps.Keys(m.Env)) {
			env.set(key, newScalar(m.Env[key], at))
		}
		merged.set("env", env)
	}
}

// How den's policy decides what an agent may do.
const (
	ByProtocol = "protocol" // the agent asks den
	ByHook     = "hook"     // its program calls den before it uses a tool
	ByServer   = "server"   // den answers what its program asks
	ByRules    = "rules"    // its program is told the rules when it starts
)

// policyBy is how den decides for the presets that it can decide for on a screen.
func policyBy() map[string]string {
	return map[string]string{"claude": ByHook, "codex": ByHook, "copilot": ByHook, "gemini": ByRules, "opencode": ByServer}
}

// PolicyReach tells how den's policy decides for the agent, and, where it is "",
// why it does not.
func (a *Agent) PolicyReach() (how, why string) {
	switch how = policyBy()[a.Preset]; {
	case a.Channel.Backend == "script":
		return "", "a script asks nobody"
	case a.ByProtocol():
		return ByProtocol, ""
	case how == "":
		return "", "its program has no hook that den knows"
	case !a.ProcessesKnown():
		return "", fmt.Sprintf("no hook reaches the keeper from a session that runs in '%s'", a.RunsIn)
	case len(a.StartCommand) == 0 || filepath.Base(a.StartCommand[0]) != a.Preset:
		return "", fmt.Sprintf("its command is not %s itself", a.Preset)
	case how == ByServer && a.StateSource == "screen":
		return "", "its server is not used: state_source is \"screen\""
	case how == ByServer && !a.HasSource():
		return "", "its server cannot be reached in the sandbox's network"
	}
	return how, ""
}

// unobeyed warns of rules that nothing enforces.
func unobeyed(a *Agent) []string {
	how, why := a.PolicyReach()
	rules := a.Channel.Permissions
	if how == ByRules { // of what a file is called, or a host, its policy knows nothing
		why = a.Preset + " has no such rules"
		rules = slices.DeleteFunc(slices.Clone(rules), func(r PermissionRule) bool { return r.Path == "" && r.Host == "" })
	}
	if how != "" && how != ByRules || len(rules) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("agent '%s': %d of its permissions (%s) do not hold: %s", a.Name, len(rules), a.Origin("permissions"), why)}
}
