// Package trees keeps the git worktrees of a workspace's agents: it places and
// makes them, looks at them for those who ask, and removes those whose work is
// elsewhere.
package trees

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/wake"
	"den/internal/keeper"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
)

// How often agents' worktrees are looked at. One look at all takes two calls of
// git for each, one after the other, and only while somebody asks for the
// agents; the pause grows with the time that a look took, so that all looks
// together never take more than a twentieth of one processor.
const (
	lookEvery  = 5 * time.Second
	lookShare  = 20               // the pause is this many times the look
	wantedFor  = 20 * time.Second // after somebody has asked
	lookLimit  = 10 * time.Second // of one tree
	awaitLimit = time.Second      // how long who asks waits for the first look
)

// Options are what New needs.
type Options struct {
	Root  string                                                 // the directory that holds the trees
	Git   worktree.Git                                           // looks at them
	Runs  func(context.Context, worktree.Record) (string, error) // what the agent of a tree does; "" where it does not run
	Paths func() []string                                        // of the agents that there are now
}

// Trees are the worktrees of one workspace.
type Trees struct {
	o    Options
	wake wake.Signal // somebody asks; room for one: one look serves all

	mu     sync.Mutex             // guards the fields below
	seen   map[string]keeper.Tree // by path
	asked  time.Time              // when somebody last did
	fresh  time.Time              // until when what was seen is not old
	looked chan struct{}          // closed, and replaced, at the end of each look
}

// New returns the worktrees of a workspace. Nothing was seen of them yet.
func New(o Options) *Trees {
	return &Trees{o: o, wake: wake.New(), seen: map[string]keeper.Tree{}, looked: make(chan struct{})}
}

// At returns what was last seen of the tree at a path, nil for nothing.
func (t *Trees) At(path string) *keeper.Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seen, ok := t.seen[path]; ok {
		return &seen
	}
	return nil
}

// ask notes that somebody wants to know, and returns what ends when the next
// look does; nil where what is known is not old.
func (t *Trees) ask(now time.Time) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
	t.wake.Set()
	if now.Before(t.fresh) {
		return nil
	}
	return t.looked
}

// take replaces what was seen, and returns for how long that does.
func (t *Trees) take(seen map[string]keeper.Tree, began, now time.Time) time.Duration {
	pause := max(lookEvery, lookShare*now.Sub(began))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen, t.fresh = seen, now.Add(2*pause)
	close(t.looked)
	t.looked = make(chan struct{})
	return pause
}

// add tells of a tree that was just made.
func (t *Trees) add(one keeper.Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[one.Path] = one
}

func (t *Trees) wanted(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.asked) < wantedFor
}

// Await returns when it is known how the agents' worktrees are, or after a
// moment. It costs nothing where no agent has one.
func (t *Trees) Await(ctx context.Context) {
	if len(t.o.Paths()) == 0 {
		return
	}
	looked := t.ask(time.Now())
	if looked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	select {
	case <-looked:
	case <-ctx.Done():
	}
}

// Run looks at agents' worktrees while somebody asks, until the context
// ends.
func (t *Trees) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		for t.wanted(time.Now()) {
			began := time.Now()
			seen := t.lookOnce(ctx)
			if ctx.Err() != nil {
				return
			}
			pause := time.NewTimer(t.take(seen, began, time.Now()))
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
		}
	}
}

// lookOnce looks at each worktree of an agent that the workspace has.
func (t *Trees) lookOnce(ctx context.Context) map[string]keeper.Tree {
	seen := map[string]keeper.Tree{}
	records, _ := worktree.Records(t.o.Root) // Best effort: 'den worktree list' tells what could not be read.
	paths := t.o.Paths()
	for _, r := range records {
		if !slices.Contains(paths, r.Path) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, lookLimit)
		seen[r.Path] = shown(t.o.Git.Look(limited, r))
		cancel()
	}
	return seen
}

// shown is a tree as it is told.
func shown(s worktree.Status) keeper.Tree {
	t := keeper.Tree{
		Path: s.Path, Branch: s.Head, Base: s.BaseName(), Ahead: s.Ahead, Behind: s.Behind, Changed: s.Changed, Untracked: s.Untracked, BaseGone: s.BaseGone,
	}
	switch {
	case s.Problem != nil:
		t.Branch, t.Problem = s.Branch, strings.ReplaceAll(s.Problem.Error(), "\n", " ")
	case t.Branch == "":
		t.Branch = "(detached)"
	}
	return t
}

// Locate finds the place of an agent's own worktree below root, and makes it the
// agent's directory. It is zero for an agent that has none.
func Locate(root string, ws *workspace.Workspace, ag *workspace.Agent, session string) worktree.Location {
	if !ag.Worktree {
		return worktree.Location{}
	}
	p := worktree.Plan(worktree.Spec{
		Root: root, Workspace: ws.Name, Agent: ag.Name, Dir: ag.Dir, Base: ag.WorktreeBase, Session: session, Provider: ag.RunsIn,
	})
	ag.Dir = p.WorkDir
	return p
}

// Maker makes an agent's worktree when it starts; nil for one that has none.
func (t *Trees) Maker(p worktree.Location) func(context.Context) (string, error) {
	if p.Path == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		note, err := t.o.Git.Make(ctx, p)
		if r, unread := worktree.Made(p); err == nil && unread == nil {
			t.add(shown(t.o.Git.Look(ctx, r))) // the next look at all may be a while off
		}
		return note, err
	}
}

// List lists the worktrees of the workspace, also of agents that it has no
// more.
func (t *Trees) List(ctx context.Context) (keeper.Worktrees, error) {
	began := time.Now()
	all, unread := t.o.Git.List(ctx, t.o.Root, t.o.Runs)
	if ctx.Err() != nil {
		return keeper.Worktrees{}, ctx.Err()
	}
	seen := map[string]keeper.Tree{}
	for _, v := range all {
		seen[v.Path] = shown(v.Status)
	}
	t.take(seen, began, time.Now())
	return listed(all, unread), nil
}

// Prune removes worktrees whose work is elsewhere.
func (t *Trees) Prune(ctx context.Context, req keeper.Prune) (keeper.Worktrees, error) {
	all, err := t.o.Git.Prune(ctx, t.o.Root, worktree.Choice{Agents: req.Agents, Dry: req.DryRun, Ignored: req.Ignored}, t.o.Runs)
	if all == nil && err != nil {
		return keeper.Worktrees{}, err
	}
	done := listed(all, err)
	done.DryRun = req.DryRun
	return done, nil
}

func listed(all []worktree.Verdict, unread error) keeper.Worktrees {
	list := keeper.Worktrees{Worktrees: []keeper.Worktree{}}
	if unread != nil {
		list.Problem = unread.Error()
	}
	for _, v := range all {
		list.Worktrees = append(list.Worktrees, keeper.Worktree{
			Agent: v.Agent, Tree: shown(v.Status), Ignored: v.Ignored, Running: v.Runs, Merged: v.Merged, Pushed: v.Pushed,
			Keep: v.Keep, Safe: v.Safe, Removed: v.Removed, BranchRemoved: v.BranchRemoved, Undone: v.Undone,
		})
	}
	return list
}
