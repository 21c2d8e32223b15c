package permission

import (
	"fmt"
	"slices"
	"strings"
)

// sensitive are names in the agent's directory that decide what runs or what
// is allowed. Changing them is asked for, although they are inside.
var sensitive = []string{".git", ".den", "den.toml", "den.yaml", ".claude", ".codex", ".gemini", ".opencode", ".mcp.json", ".envrc"}

// byDefault decides what no rule decides.
func (p places) byDefault(u use) (Outcome, string) {
	switch {
	case u.problem != "":
		return Ask, u.problem
	case u.kind == Think:
		return Allow, "it changes nothing"
	case u.file != nil:
		return p.fileByDefault(u)
	case u.command != nil:
		if why := p.risk(u); why != "" {
			return Ask, why
		}
		return Allow, "the command only reads, and only in the agent's directory"
	case u.kind == Fetch:
		return Ask, "it reaches the network"
	case u.kind == Question:
		return Ask, "the agent asks a person"
	}
	return Ask, "den does not know what this tool does"
}

func (p places) fileByDefault(u use) (Outcome, string) {
	_, ok := inside(p.dir, u.file.real)
	switch {
	case !ok:
		return Ask, fmt.Sprintf("'%s' is outside the agent's directory", u.file.given)
	case u.kind == Read:
		return Allow, "it reads in the agent's directory"
	case p.decisive(u):
		return Ask, fmt.Sprintf("'%s' decides what runs or what is allowed", u.file.given)
	}
	return Allow, "it edits in the agent's directory"
}

// decisive reports whether a use changes a file that decides what runs or what
// is allowed.
func (p places) decisive(u use) bool {
	if u.file == nil || u.kind == Read {
		return false
	}
	name := u.file.real
	if rel, ok := inside(p.dir, name); ok {
		name = rel
	}
	return slices.ContainsFunc(split(strings.ToLower(name)), func(part string) bool { return slices.Contains(sensitive, part) })
}
