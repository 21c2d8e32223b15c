package permission

import "fmt"

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
	if _, ok := inside(p.dir, u.file.real); !ok {
		return Ask, fmt.Sprintf("'%s' is outside the agent's directory", u.file.given)
	}
	if u.kind == Read {
		return Allow, "it reads in the agent's directory"
	}
	if p.askEdits {
		return Ask, "it changes a file"
	}
	return Allow, "it edits in the agent's directory"
}
