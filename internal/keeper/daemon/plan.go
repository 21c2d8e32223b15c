package daemon

import (
	"path"
	"slices"
	"strings"
	"sync"

	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// inForce is the plan at one moment. Nothing of it changes.
type inForce struct {
	workspace *workspace.Workspace
	loaded    bool              // else no file was read yet
	problem   error             // why the newest file is not in force, or nil
	counts    map[string]int    // pools and how many of each are wanted
	members   map[string]member // all agents, by key
	leaving   map[string]member // those that are not wanted any more; they may still finish
	replaced  chan struct{}     // closed when there are other members
}

// all lists the agents: those that are wanted, then those that leave.
func (p inForce) all() []member {
	var all []member
	for _, known := range []map[string]member{p.members, p.leaving} {
		for _, m := range known {
			all = append(all, m)
		}
	}
	return all
}

// nameOf returns what the agent of a key is called.
func (p inForce) nameOf(key string) string {
	for _, known := range []map[string]member{p.members, p.leaving} {
		if m, ok := known[key]; ok {
			return m.Name()
		}
	}
	return key // it is gone
}

// find returns an agent by its qualified name, or the only one whose last part
// it is.
func (p inForce) find(name string) (member, error) {
	var short []string
	var one member
	for _, m := range p.all() {
		switch full := m.Name(); {
		case full == name:
			return m, nil
		case path.Base(full) == name:
			short, one = append(short, full), m
		}
	}
	slices.Sort(short)
	switch {
	case len(short) == 1:
		return one, nil
	case len(short) > 1:
		return member{}, fault.Hintf(fault.Errorf(fault.Usage, "%d agents are called '%s'", len(short), name), "say which: %s", strings.Join(short, ", "))
	}
	err := fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name)
	for i := range p.workspace.Agents {
		if ag := &p.workspace.Agents[i]; ag.Pool != nil && (ag.Name == name || path.Base(ag.Name) == name) {
			return member{}, fault.Hintf(err, "'%s' is a pool; its agents are called %s-1, %s-2 and so on: 'den ps' lists them", name, ag.Name, ag.Name)
		}
	}
	return member{}, fault.Hintf(err, "'den ps' lists them")
}

// inSession returns the agent that lives in a session, by the name that den's
// own verbs have for it.
func (p inForce) inSession(session string) (member, bool) {
	all := p.all()
	i := slices.IndexFunc(all, func(m member) bool { return session != "" && m.DenSession() == session })
	if i < 0 {
		return member{}, false
	}
	return all[i], true
}

// plan holds what is in force.
type plan struct {
	mu sync.Mutex // guards at
	at inForce
}

// newPlan is that of a workspace whose file was not read yet.
func newPlan(name string) *plan {
	return &plan{at: inForce{workspace: &workspace.Workspace{Name: name}, replaced: make(chan struct{})}}
}

// now returns what is in force.
func (p *plan) now() inForce {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// refuse notes why the newest file is not in force, nil if it is, and returns what
// was noted before.
func (p *plan) refuse(problem error) (before error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.at.problem = p.at.problem, problem
	return before
}

// replace puts a workspace in force. Agents that it has no more are leaving as
// long as keeps says so.
func (p *plan) replace(ws *workspace.Workspace, counts map[string]int, members map[string]member, keeps func(key string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leaving := map[string]member{}
	for key, m := range p.at.leaving {
		if _, back := members[key]; !back && keeps(key) {
			leaving[key] = m
		}
	}
	for key, m := range p.at.members {
		if _, stays := members[key]; !stays {
			leaving[key] = m
		}
	}
	close(p.at.replaced)
	p.at = inForce{workspace: ws, loaded: true, problem: p.at.problem, counts: counts, members: members, leaving: leaving, replaced: make(chan struct{})}
}
