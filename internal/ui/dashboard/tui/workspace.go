package tui

import (
	"context"
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Workspace is what a keeper says of its agents.
type Workspace struct {
	Name    string
	Problem string // why its newest configuration is not in force, or empty
	Agents  []Agent
	Waiting []Waiting // for a person, what waits longest first
}

// Agent is one agent: what it should be, what it is, and why.
type Agent struct {
	Name     string
	Session  string // by name or id, where it has one
	Wanted   string
	Actual   string
	Why      string
	Restarts int
	Since    time.Time // of the actual state, or zero
	Tree     *Tree     // its git worktree, or nil
	Approval string    // what it asks about before it edits or runs; see keeper.AgentStatus
}

// Tree is how the git worktree of an agent is.
type Tree struct {
	Branch  string
	Ahead   int    // commits that its base does not have
	Dirty   int    // files that are not committed
	Problem string // why that is not known, or empty
}

// agentsMsg is the workspace as it is now.
type agentsMsg struct {
	workspace *Workspace // or nil: there is none
	err       error      // why nothing is known of it
}

const (
	askEvery = 2 * time.Second // between two questions to the keeper
	askLimit = 5 * time.Second // for an answer
)

// askAgents tells of the workspace whenever it has changed, until ctx ends.
func (p *pump) askAgents(ctx context.Context, ask func(context.Context) (*Workspace, error), send func(tea.Msg)) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var told agentsMsg
	for first := true; ; first = false {
		limited, cancel := context.WithTimeout(ctx, askLimit)
		w, err := ask(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if now := (agentsMsg{w, err}); first || !sameAgents(now, told) {
			told = now
			send(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func sameAgents(a, b agentsMsg) bool {
	if (a.err == nil) != (b.err == nil) || a.err != nil && a.err.Error() != b.err.Error() {
		return false
	}
	return reflect.DeepEqual(a.workspace, b.workspace)
}
