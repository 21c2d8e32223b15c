package workspace

import (
	"slices"

	"den/internal/place/sandbox"
)

// place is what a file may say of agents by the session provider that they run in.
type place struct {
	kind  string
	apart bool // they must not reach this machine's repositories, and have a sandbox already
	known bool // see ProcessesKnown
}

// places are the session providers that a file can name, in the order in which they
// are named to people. Package factory opens them.
var places = []place{
	{kind: "native", known: true},
	{kind: "tmux", known: true},
	{kind: "subprocess"},
	{kind: "container", apart: true},
	{kind: "kubernetes", apart: true},
}

// Kinds lists the session providers that a file can name.
func Kinds() []string {
	var kinds []string
	for _, p := range places {
		kinds = append(kinds, p.kind)
	}
	return kinds
}

func (a *Agent) place() place {
	if i := slices.IndexFunc(places, func(p place) bool { return p.kind == a.RunsIn }); i >= 0 {
		return places[i]
	}
	return place{}
}

// ProcessesKnown reports whether the keeper knows the processes of the agent's
// session, as they are on this machine: then their hooks can ask it, and what they
// do is read from their files.
func (a *Agent) ProcessesKnown() bool { return a.place().known }

// HasSource reports whether the keeper may read what the agent does from its
// program, and not from its screen alone. Of an agent by protocol its harness
// tells.
func (a *Agent) HasSource() bool {
	return !a.ByProtocol() && a.StateSource != "screen" && a.ProcessesKnown() && a.reachesSource()
}

// reachesSource reports whether the keeper and an agent in a sandbox can meet:
// codex serves a socket in den's state directory, opencode a port.
func (a *Agent) reachesSource() bool {
	return !a.Sandbox.Enabled || a.Preset != "codex" && (a.Preset != "opencode" || a.Network == "" || a.Network == sandbox.NetworkAny)
}
