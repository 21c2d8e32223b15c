package dend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"den/internal/fault"
	"den/internal/workspace"
)

// heldError is a workspace file that would end many agents at once. It may be
// half of what somebody writes, or what a full disk left of it; what an agent
// has in its head does not come back.
type heldError struct {
	ended []string
	of    int
}

func (e *heldError) Error() string {
	return fmt.Sprintf("held: the workspace's file would end %d of %d agents at once (%s)", len(e.ended), e.of, strings.Join(e.ended, ", "))
}

// hold refuses a file that would end more than half of the agents, unless
// there is only one and another takes its place.
func (d *daemon) hold(ws *workspace.Workspace) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	stay := map[string]bool{}
	for _, key := range d.keysOf(namesOf(ws, maps.Clone(d.counts))) {
		stay[key] = true // where it was, or moved
	}
	var ended []string
	for key, m := range d.members {
		if !stay[key] {
			ended = append(ended, m.Name())
		}
	}
	slices.Sort(ended)
	renamed := len(d.members) == 1 && len(stay) > 0
	if 2*len(ended) <= len(d.members) || renamed {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Denied, "%w", &heldError{ended: ended, of: len(d.members)}), "'den reload --yes' lets it take effect")
}
