package daemon

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/place/worktree"
	"den/internal/process/supervise"
	"den/internal/session/home"
)

// worktrees lists the worktrees of the workspace, also of agents that it has no
// more.
func (d *daemon) worktrees(ctx context.Context) (keeper.Worktrees, error) {
	began := time.Now()
	all, unread := d.git().List(ctx, d.treesRoot(), d.treeRuns)
	if ctx.Err() != nil {
		return keeper.Worktrees{}, ctx.Err()
	}
	seen := map[string]keeper.Tree{}
	for _, v := range all {
		seen[v.Path] = shownTree(v.Status)
	}
	d.trees.take(seen, began, time.Now())
	return listedTrees(all, unread), nil
}

func (h *handler) prune(ctx context.Context, call *rpc.Call) (any, error) {
	var req keeper.Prune
	if err := call.Decode(&req); err != nil {
		return nil, err
	}
	done, err := h.d.pruneTrees(ctx, req)
	for _, t := range done.Worktrees {
		if t.Removed {
			h.d.controller.Event(keeper.Event{Type: keeper.EventPruned, Agent: t.Agent, Why: t.Safe, Detail: map[string]any{"path": t.Path, "branch": t.Branch, "branch_removed": t.BranchRemoved}})
		}
	}
	return done, err
}

// pruneTrees removes worktrees whose work is elsewhere.
func (d *daemon) pruneTrees(ctx context.Context, req keeper.Prune) (keeper.Worktrees, error) {
	all, err := d.git().Prune(ctx, d.treesRoot(), req.Agents, req.DryRun, d.treeRuns)
	if all == nil && err != nil {
		return keeper.Worktrees{}, err
	}
	done := listedTrees(all, err)
	done.DryRun = req.DryRun
	return done, nil
}

func listedTrees(all []worktree.Verdict, unread error) keeper.Worktrees {
	list := keeper.Worktrees{Worktrees: []keeper.Worktree{}}
	if unread != nil {
		list.Problem = unread.Error()
	}
	for _, v := range all {
		list.Worktrees = append(list.Worktrees, keeper.Worktree{
			Agent: v.Agent, Tree: shownTree(v.Status), Ignored: v.Ignored, Running: v.Runs, Merged: v.Merged, Pushed: v.Pushed,
			Keep: v.Keep, Safe: v.Safe, Removed: v.Removed, BranchRemoved: v.BranchRemoved,
		})
	}
	return list
}

// idleStates are those of agents that do not work in their directories.
var idleStates = []string{keeper.Stopped, keeper.Suspended, keeper.Quarantined, keeper.Finished}

// treeRuns says what the agent of a worktree does, "" where it does not run.
// The session is asked in any case: one may run that no keeper knows of.
func (d *daemon) treeRuns(ctx context.Context, r worktree.Record) (string, error) {
	if d.controller != nil {
		for _, s := range d.controller.Status() {
			if s.Name == r.Agent && !slices.Contains(idleStates, s.Actual) {
				return "is " + s.Actual, nil
			}
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
	var said struct {
		Result *keeper.Worktrees `json:"result,omitempty"`
		Error  *rpc.Error        `json:"error,omitempty"`
	}
	list, err := treesWithoutKeeper(o, environ)
	if said.Result = &list; err != nil {
		said.Result, said.Error = nil, rpc.FromError(err)
	}
	return json.NewEncoder(stdout).Encode(said)
}

func treesWithoutKeeper(o options, environ []string) (list keeper.Worktrees, err error) {
	getenv := environment.Getter(environ)
	p, err := keeper.At(o.file)
	if err != nil {
		return list, err
	}
	root, err := home.ResolveHome(o.home, getenv)
	if err != nil {
		return list, err
	}
	reg, err := p.Identify(keeper.Caller{Home: root, Getenv: getenv})
	if fault.KindOf(err) == fault.NotFound {
		return listedTrees(nil, nil), nil // it never was up
	}
	if err != nil {
		return list, err
	}
	only, err := reg.Lock() // nothing is started meanwhile
	if err != nil {
		return list, err
	}
	defer only.Close() // Best effort: nothing was written.
	d := &daemon{state: p, registration: reg, home: homeOf(reg, root), den: o.den, getenv: getenv, environ: environ}
	d.providers = newProviders(d)
	defer d.providers.close()
	if ws, err := d.read(); err == nil { // without it, sessions are where they are by default
		d.session = ws.Session
	}
	ctx, stop := supervise.UntilSignalled()
	defer stop()
	words := o.verb[1:]
	switch {
	case slices.Equal(words, []string{"list"}):
		return d.worktrees(ctx)
	case len(words) > 0 && words[0] == "prune":
		return d.pruneTrees(ctx, pruneWords(words[1:]))
	}
	return list, fault.Errorf(fault.Usage, "dend worktree: it lists or prunes, and knows no %q", strings.Join(words, " "))
}

func pruneWords(words []string) keeper.Prune {
	req := keeper.Prune{}
	for _, word := range words {
		if word == "--dry-run" {
			req.DryRun = true
			continue
		}
		req.Agents = append(req.Agents, word)
	}
	return req
}
