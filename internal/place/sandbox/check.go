package sandbox

import "path/filepath"

// A Verdict says what an agent may do with a path, and what lets it.
type Verdict struct {
	Path  string `json:"path"`
	Read  bool   `json:"read"`
	Write bool   `json:"write"`
	By    string `json:"by,omitempty"` // the grant, or why there is none

	Protected bool `json:"protected,omitempty"` // nothing grants that it is written
	protector string
	hidden    bool
}

// Check says what the agent may do with a path of this machine. program is what
// it runs, "" for any.
func (p Policy) Check(path, program string, environ []string) Verdict {
	path = filepath.Clean(path)
	real := realPath(path)
	v := Verdict{Path: path, By: "nothing grants it"}
	best := -1
	for _, g := range p.grants(program, environ) {
		if g.names || !within(real, g.real) || len(g.real) < best {
			continue
		}
		if len(g.real) > best || g.write {
			best = len(g.real)
			v.Read, v.Write, v.By = true, g.write, g.why+" ("+g.path+")"
		}
	}
	for _, dir := range p.Hide {
		if within(real, realPath(dir)) && len(realPath(dir)) > best {
			return Verdict{Path: path, hidden: true, By: "den's own files are hidden (" + dir + ")"}
		}
	}
	protect, keep, _ := p.protected() // where that is not known, the agent does not start
	if p.Held.Hides() {
		protect = append(protect, keep...)
	}
	for _, name := range protect {
		if within(real, realPath(name)) {
			v.Write, v.Protected, v.protector = false, true, filepath.Clean(name)
			v.By = "it is protected: it decides what runs outside of the sandbox (" + v.protector + ")"
		}
	}
	if !v.Read && !v.Protected && v.private(p, real) {
		v.By = "nothing grants it; in the sandbox there is a directory of the agent's own in its place"
	}
	return v
}

func (v Verdict) private(p Policy, real string) bool {
	return within(real, "/tmp") || p.Home != "" && within(real, realPath(p.Home))
}
