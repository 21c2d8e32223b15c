package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// How den talks with an agent.
const (
	DriveScreen   = "screen"
	DriveProtocol = "protocol"
)

var (
	drives = []string{DriveScreen, DriveProtocol}
	// protocols are the agents that den can drive without their screens.
	protocols = []string{"claude", "codex", "copilot", "acp", "script"}
)

// Three keys say what an agent is: `agent` what runs, `drive` how den talks with
// it, `runs_in` where its session lives. They had other names, of which two meant
// two things each, and files with those are read as they were meant:
//
//	provider, of an agent               agent, drive = "screen"
//	agent beside a provider             backend
//	agent, of a preset                  backend
//	session_provider                    runs_in
//	provider, of [session]              runs_in, of [defaults]
//	provider, of [workspace]            agent, of [defaults]
//	[providers.X]                       [presets.X]
//
// The first four are renamed here, in one file; the resolver knows the other two
// provider keys, as what they mean depends on the agents.
func renew(tree *node, r *report) {
	if old := tree.get("providers"); old != nil {
		renewPresets(tree, old, r)
	}
	if n := tree.get("presets"); n != nil {
		for _, e := range n.entries {
			renewRunsIn(e.value, r)
			renewBackend(e.value, r)
		}
	}
	for _, n := range append([]*node{tree.get("defaults")}, orEmptyList(tree.get("agents")).items...) {
		renewRunsIn(n, r)
		renewAgent(n, r)
	}
	if n := tree.get("defaults").get("agent"); n != nil && n.word != "" {
		r.renamed(n.origin, n.word, n.text, asScreen(n.text, n.origin))
	}
}

func renewPresets(tree, old *node, r *report) {
	presets := tree.get("presets")
	for _, e := range old.entries {
		if twin := presets.get(e.key); twin != nil {
			r.add(e.value.origin, "[providers.%s] and [presets.%s], at %s, are the same: keep the latter", e.key, e.key, twin.origin)
		}
	}
	if presets == nil || presets.kind != tableNode || old.kind != tableNode {
		tree.rename("providers", "presets")
	} else {
		presets.entries = append(presets.entries, old.entries...)
		tree.remove("providers")
	}
	for _, e := range old.entries {
		r.hint(e.value.origin, "[providers."+e.key+"]", "[presets."+e.key+"]")
	}
}

func renewRunsIn(n *node, r *report) {
	old := n.get("session_provider")
	if old == nil {
		return
	}
	if now := n.get("runs_in"); now != nil {
		r.contradict("session_provider", old, "runs_in", now)
		n.remove("session_provider")
	} else {
		n.renameAs("session_provider", "runs_in")
	}
	r.renamed(old.origin, "session_provider", old.text, assign(old.origin, "runs_in", old.text))
}

// renewBackend renames the `agent` of a preset: whose protocol it speaks.
func renewBackend(n *node, r *report) {
	old := n.get("agent")
	if old == nil {
		return
	}
	if now := n.get("backend"); now != nil {
		r.contradict("agent", old, "backend", now)
		n.remove("agent")
	} else {
		n.renameAs("agent", "backend")
	}
	r.renamed(old.origin, "agent", old.text, assign(old.origin, "backend", old.text))
}

// renewAgent renames the `provider` of an agent, and the `agent` beside it.
func renewAgent(n *node, r *report) {
	old, now := n.get("provider"), n.get("agent")
	switch {
	case old == nil:
		return
	case now == nil:
	case old.text == now.text:
		n.remove("provider")
		r.renamed(old.origin, "provider", old.text, assign(now.origin, "agent", now.text)+" alone")
		return
	case n.get("drive") == nil && n.get("backend") == nil && isPair(old.text, now.text):
		n.renameAs("agent", "backend")
	default:
		r.contradict("provider", old, "agent", now)
		n.remove("provider")
		return
	}
	n.renameAs("provider", "agent")
}

// isPair reports whether a preset can be driven by the protocol of backend, as
// `provider` and `agent` beside each other once said: they do not name two
// agents.
func isPair(preset, backend string) bool {
	own := !slices.Contains(Presets(), preset) && !slices.Contains(protocols, preset)
	return slices.Contains(protocols, backend) && (preset == backend || backend == "acp" || backend == "script" || own)
}

// contradict reports two keys that mean the same and have two values.
func (r *report) contradict(old string, was *node, now string, is *node) {
	if was.kind != scalarNode || is.kind != scalarNode || was.text != is.text {
		r.add(was.origin, "'%s' is an old key for '%s', which %s has with another value: keep '%s'", old, now, is.origin, now)
	}
}

// rename gives an entry another key.
func (n *node) rename(old, now string) {
	for i, e := range n.entries {
		if e.key == old {
			n.entries[i].key = now
		}
	}
}

// renameAs is rename where the value remembers what it was called.
func (n *node) renameAs(old, now string) {
	value := n.get(old)
	if value == nil || n.get(now) != nil {
		return
	}
	own := *value
	own.word = old
	n.set(old, &own)
	n.rename(old, now)
}

// A renaming is a line with an old key, and what to write instead.
type renaming struct {
	at       Origin
	old, now string
}

// hint notes one. Files of the harness specification keep its words.
func (r *report) hint(at Origin, old, now string) {
	if filepath.Base(at.File) != specFileName {
		r.renamings = append(r.renamings, renaming{at, old, now})
	}
}

func (r *report) renamed(at Origin, key, value, now string) { r.hint(at, assign(at, key, value), now) }

// hints tells each renaming once, with all lines that have it.
func (r *report) hints() []string {
	var all []string
	told := map[renaming]bool{}
	for _, one := range r.renamings {
		var lines []string
		for _, same := range r.renamings {
			if line := fmt.Sprint(same.at.Line); same.at.File == one.at.File && same.old == one.old && same.now == one.now && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		key := renaming{Origin{File: one.at.File}, one.old, one.now}
		if !told[key] {
			told[key] = true
			all = append(all, fmt.Sprintf("%s:%s: %s is an old key: write %s", filepath.Base(one.at.File), strings.Join(lines, ","), one.old, one.now))
		}
	}
	return all
}

// assign is a key and its value as the file at writes them.
func assign(at Origin, key, value string) string {
	if filepath.Ext(at.File) == ".toml" {
		return fmt.Sprintf("%s = %q", key, value)
	}
	return key + ": " + value
}

// asScreen returns the keys of an agent that is driven by its screen.
func asScreen(agent string, at Origin) string {
	now := assign(at, "agent", agent)
	if slices.Contains(protocols, agent) {
		now += " and " + assign(at, "drive", DriveScreen)
	}
	return now
}

// drive decides how den talks with an agent, and returns whose protocol it speaks
// then, or "". said is what names the agent, nil where that is its command.
func (a *resolver) drive(merged, own, said *node) (backend string) {
	name, agent := nameOf(merged), ""
	if n := merged.get("agent"); n != nil {
		agent = n.text
	}
	explicit, of := merged.get("drive"), merged.get("backend")
	if one := own.get("drive"); one != nil && one.text == DriveScreen && own.get("backend") != nil {
		a.report.add(one.origin, "agent '%s': 'drive' is \"screen\", and 'backend', at %s, is for agents that are driven by protocol: keep one", name, own.get("backend").origin)
	}
	if names, other := own.get("agent"), own.get("backend"); names != nil && other != nil && slices.Contains(protocols, other.text) && !isPair(names.text, other.text) {
		a.report.add(other.origin, "agent '%s': 'backend' is \"%s\", and 'agent', at %s, names another: keep 'agent'", name, other.text, names.origin)
	}
	fallback, from := a.impliedBackend(merged, said)
	if own.get("backend") == nil && said != nil && said == own.get("agent") && said.word == "" && slices.Contains(protocols, agent) {
		of = nil // that of [defaults] or of a preset is for agents without a protocol of their own
	}
	switch {
	case explicit != nil && explicit.text == DriveScreen:
	case of != nil:
		backend = of.text
		from = of.origin
	case explicit != nil && explicit.text == DriveProtocol && slices.Contains(protocols, agent):
		backend = agent
	case explicit != nil && explicit.text == DriveProtocol && fallback == "":
		a.report.add(explicit.origin, "agent '%s': drive = \"protocol\" is for %s, and for presets with a 'backend' of these%s", name, strings.Join(protocols, ", "), orACP(agent))
	case explicit == nil || explicit.text == DriveProtocol:
		backend = fallback
	}
	merged.remove("backend")
	if backend != "" && backend != agent {
		merged.set("backend", newScalar(backend, from))
	}
	if byDefault := merged.get("agent"); said == nil && backend == "" && byDefault != nil && byDefault.word == "" {
		merged.remove("agent") // of [defaults]: this agent's own command is another
	}
	if explicit == nil {
		word := DriveScreen
		if backend != "" {
			word = DriveProtocol
		}
		merged.set("drive", newScalar(word, from))
	}
	return backend
}

// orACP names the other protocol of agents that have none of their own.
func orACP(agent string) string {
	if !slices.Contains([]string{"gemini", "opencode", "qwen"}, agent) {
		return ""
	}
	return fmt.Sprintf(": write agent = \"acp\" with the 'acp_command' of %s", agent)
}

// impliedBackend is the protocol of an agent whose file does not say how den
// talks with it: its own where there is one. An old `provider` meant the screen,
// unless an `agent` of [defaults] said otherwise.
func (a *resolver) impliedBackend(merged, said *node) (backend string, from Origin) {
	byDefault := a.tree.get("defaults").get("agent")
	if byDefault != nil && (byDefault.word != "" || !slices.Contains(protocols, byDefault.text)) {
		byDefault = nil
	}
	wide := a.tree.get("workspace").get("provider")
	switch {
	case said == nil && byDefault != nil:
		return byDefault.text, byDefault.origin
	case said == nil:
		return "", Origin{}
	case said.word != "" || said == wide:
		if byDefault != nil && isPair(said.text, byDefault.text) {
			return byDefault.text, byDefault.origin
		}
		if said == wide && merged.get("channels") != nil && a.tree.get("defaults").get("agent") == nil {
			return said.text, Origin{Derived: "the agent's channels"}
		}
		return "", said.origin
	case slices.Contains(protocols, said.text):
		return said.text, Origin{Derived: "den speaks the protocol of " + said.text}
	}
	return "", Origin{}
}

// hintProvider tells how an agent is written whose file has the old `provider`.
func (a *resolver) hintProvider(own *node, backend string) {
	n := own.get("agent")
	if n == nil || n.word == "" {
		return
	}
	now := asScreen(n.text, n.origin)
	switch of := own.get("backend"); {
	case of != nil && of.word != "":
		now = assign(n.origin, "agent", n.text) + " and " + assign(n.origin, "backend", of.text)
	case own.get("drive") != nil:
		now = assign(n.origin, "agent", n.text)
	case backend == n.text:
		now = assign(n.origin, "agent", n.text) + " and " + assign(n.origin, "drive", DriveProtocol)
	case backend != "":
		now = assign(n.origin, "agent", n.text) + " and " + assign(n.origin, "backend", backend)
	}
	a.report.renamed(n.origin, n.word, n.text, now)
}

// widePlaces checks the two keys that were of the whole workspace against those
// of [defaults], and tells how they are written.
func (a *resolver) widePlaces() {
	runsIn, agent := a.tree.get("defaults").get("runs_in"), a.tree.get("defaults").get("agent")
	if old := a.tree.get("session").get("provider"); old != nil {
		if runsIn != nil && runsIn.word == "" {
			a.report.contradict("session.provider", old, "defaults.runs_in", runsIn)
		}
		a.report.renamed(old.origin, "provider", old.text, assign(old.origin, "runs_in", old.text)+" in [defaults]")
	}
	if old := a.tree.get("workspace").get("provider"); old != nil {
		if agent != nil && agent.word == "" && !isPair(old.text, agent.text) {
			a.report.contradict("workspace.provider", old, "defaults.agent", agent)
		}
		now := assign(old.origin, "agent", old.text) + " in [defaults]"
		if slices.Contains(protocols, old.text) {
			now += ", with " + assign(old.origin, "drive", DriveScreen) + " for agents that are in no channel"
		}
		a.report.renamed(old.origin, "provider", old.text, now)
	}
}
