package workspace

import (
	"path"
	"strconv"
	"strings"

	"den/internal/base/fault"
)

// Agent returns the agent of that qualified name, or the only one whose last
// part it is. A member of a pool is the pool's entry under its own name.
func (w *Workspace) Agent(name string) (*Agent, error) {
	var short []*Agent
	var known []string
	for i := range w.Agents {
		a := &w.Agents[i]
		if a.Name == name {
			return a, nil
		}
		known = append(known, a.Name)
		if path.Base(a.Name) == name {
			short = append(short, a)
		}
		if member := a.member(name); member != nil {
			short = append(short, member)
		}
	}
	switch {
	case len(short) == 1:
		return short[0], nil
	case len(short) > 1:
		var names []string
		for _, a := range short {
			names = append(names, a.Name)
		}
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "%d agents are called '%s'", len(short), name), "say which: %s", strings.Join(names, ", "))
	case len(known) == 0:
		return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s': the workspace has none", name), "add [[agents]] to its file")
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s'%s", name, didYouMean(name, known)), "there are: %s", strings.Join(known, ", "))
}

// member returns the pool's agent of that name, short or qualified, or nil.
func (a *Agent) member(name string) *Agent {
	if a.Pool == nil {
		return nil
	}
	for _, pool := range []string{a.Name, path.Base(a.Name)} {
		number, ok := strings.CutPrefix(name, pool+"-")
		index, err := strconv.Atoi(number)
		if ok && err == nil && index >= 1 && index <= a.Pool.Max && number == strconv.Itoa(index) {
			return a.Member(index)
		}
	}
	return nil
}

// Member returns the pool's agent with that number, from 1.
func (a *Agent) Member(index int) *Agent {
	one := *a
	one.Name, one.Index = memberName(a.Name, index), index
	return &one
}

// Named returns the agent under that name: itself, or the pool's member.
func (a *Agent) Named(name string) *Agent {
	if m := a.member(name); m != nil {
		return m
	}
	one := *a
	one.Name = name
	return &one
}

func memberName(pool string, index int) string { return pool + "-" + strconv.Itoa(index) }
