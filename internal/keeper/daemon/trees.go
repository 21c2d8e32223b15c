package daemon

import (
	"context"
	"io"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/worktree"
	"den/internal/process/tree"
)

func (d *daemon) prune(ctx context.Context, req keeper.Prune) (any, error) {
	done, err := d.trees.Prune(ctx, req)
	for _, t := range done.Worktrees {
		if t.Removed {
			d.controller.Event(keeper.Event{Type: keeper.EventPruned, Agent: t.Agent, Why: t.Safe, Detail: map[string]any{"path": t.Path, "branch": t.Branch, "branch_removed": t.BranchRemoved}})
		}
	}
	return done, err
}

func (d *daemon) treePaths() []string {
	var paths []string
	for _, m := range d.plan.now().all() {
		if m.tree.Path != "" {
			paths = append(paths, m.tree.Path)
		}
	}
	return paths
}

// idleStates are those of agents that do not work in their directories.
var idleStates = []string{keeper.Stopped, keeper.Suspended, keeper.Quarantined, keeper.Finished}

// treeRuns says what the agent of a worktree does, "" where it does not run.
// The session is asked in any case: one may run that no keeper knows of.
func (d *deps) treeRuns(ctx context.Context, r worktree.Record) (string, error) {
	for _, s := range d.owner.status() {
		if s.Name == r.Agent && !slices.Contains(idleStates, s.Actual) {
			return "is " + s.Actual, nil
		}
	}
	p, err := d.providers.get(r.Provider)
	if err != nil {
		return "", err
	}
	running, err := p.IsRunning(ctx, r.Session)
	if err != nil || !running {
		return "", err
	}
	return "is running", nil
}

// verbWorktree lists or prunes worktrees while no keeper runs.
const verbWorktree = "worktree"

// worktreesAlone is 'dend worktree list' and 'dend worktree prune [--dry-run]
// [NAME...]'. It prints one object: the answer, or an error.
func worktreesAlone(o options, environ []string, stdout io.Writer) error {
	list, err := treesWithoutKeeper(o, environ)
	return sayAlone(stdout, &list, err)
}

func treesWithoutKeeper(o options, environ []string) (list keeper.Worktrees, err error) {
	at, err := openSite(o, environ, keeper.StateDir.Identify)
	if fault.KindOf(err) == fault.NotFound {
		return keeper.Worktrees{Worktrees: []keeper.Worktree{}}, nil // it never was up
	}
	if err != nil {
		return list, err
	}
	only, err := at.registration.Lock() // nothing is started meanwhile
	if err != nil {
		return list, err
	}
	defer only.Close() // Best effort: nothing was written.
	d := newDeps(at, nobody())
	defer d.close()
	if ws, err := d.read(); err == nil { // without it, sessions are where they are by default
		d.providers.accept(ws.Session, nil)
	}
	ctx, stop := tree.UntilSignalled()
	defer stop()
	words := o.verb[1:]
	switch {
	case slices.Equal(words, []string{"list"}):
		return d.trees.List(ctx)
	case len(words) > 0 && words[0] == "prune":
		return d.trees.Prune(ctx, pruneWords(words[1:]))
	}
	return list, fault.Errorf(fault.Usage, "dend worktree: it lists or prunes, and knows no %q", strings.Join(words, " "))
}

func pruneWords(words []string) keeper.Prune {
	req := keeper.Prune{}
	for _, word := range words {
		switch word {
		case "--dry-run":
			req.DryRun = true
		case "--ignored":
			req.Ignored = true
		default:
			req.Agents = append(req.Agents, word)
		}
	}
	return req
}
