package daemon

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/keeper"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
)

// How often agents' worktrees are looked at. One look at all takes two calls of
// git for each, one after the other, and only while somebody asks for the
// agents; the pause grows with the time that a look took, so that all looks
// together never take more than a twentieth of one processor.
const (
	treesEvery  = 5 * time.Second
	treesShare  = 20               // the pause is this many times the look
	treesWanted = 20 * time.Second // after somebody has asked
	treesLimit  = 10 * time.Second // of one tree
	treesWait   = time.Second      // how long who asks waits for the first look
)

// trees is what was last seen of the agents' worktrees.
type trees struct {
	wake chan struct{} // somebody asks; room for one: one look serves all

	mu     sync.Mutex             // guards the fields below
	seen   map[string]keeper.Tree // by path
	asked  time.Time              // when somebody last did
	fresh  time.Time              // until when what was seen is not old
	looked chan struct{}          // closed, and replaced, at the end of each look; or nil: nobody looks
}

func newTrees() trees {
	return trees{wake: make(chan struct{}, 1), seen: map[string]keeper.Tree{}, looked: make(chan struct{})}
}

// of is what was seen of an agent's worktree, nil for nothing.
func (t *trees) of(m member) *keeper.Tree {
	if m.tree.Path == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if seen, ok := t.seen[m.tree.Path]; ok {
		return &seen
	}
	return nil
}

// ask notes that somebody wants to know, and returns what ends when the next
// look does; nil where what is known is not old.
func (t *trees) ask(now time.Time) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
	select {
	case t.wake <- struct{}{}:
	default: // it was told already
	}
	if now.Before(t.fresh) {
		return nil
	}
	return t.looked
}

// take replaces what was seen, and returns for how long that does.
func (t *trees) take(seen map[string]keeper.Tree, began, now time.Time) time.Duration {
	pause := max(treesEvery, treesShare*now.Sub(began))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen, t.fresh = seen, now.Add(2*pause)
	if t.looked != nil {
		close(t.looked)
		t.looked = make(chan struct{})
	}
	return pause
}

// add tells of a tree that was just made.
func (t *trees) add(one keeper.Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[string]keeper.Tree{}
	}
	t.seen[one.Path] = one
}

func (t *trees) wanted(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.asked) < treesWanted
}

// awaitTrees returns when it is known how the agents' worktrees are, or after a
// moment. It costs nothing where no agent has one.
func (d *daemon) awaitTrees(ctx context.Context) {
	if len(d.treePaths()) == 0 {
		return
	}
	looked := d.trees.ask(time.Now())
	if looked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, treesWait)
	defer cancel()
	select {
	case <-looked:
	case <-ctx.Done():
	}
}

// lookAtTrees looks at agents' worktrees while somebody asks, until the context
// ends.
func (d *daemon) lookAtTrees(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.trees.wake:
		}
		for d.trees.wanted(time.Now()) {
			began := time.Now()
			seen := d.lookOnce(ctx)
			if ctx.Err() != nil {
				return
			}
			pause := time.NewTimer(d.trees.take(seen, began, time.Now()))
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
func (d *daemon) lookOnce(ctx context.Context) map[string]keeper.Tree {
	seen := map[string]keeper.Tree{}
	records, _ := worktree.Records(d.treesRoot()) // Best effort: 'den worktree list' tells what could not be read.
	paths := d.treePaths()
	for _, r := range records {
		if !slices.Contains(paths, r.Path) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, treesLimit)
		seen[r.Path] = shownTree(d.git().Look(limited, r))
		cancel()
	}
	return seen
}

func (d *daemon) treePaths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var paths []string
	for _, known := range []map[string]member{d.members, d.leaving} {
		for _, m := range known {
			if m.tree.Path != "" {
				paths = append(paths, m.tree.Path)
			}
		}
	}
	return paths
}

func shownTree(s worktree.Status) keeper.Tree {
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

func (d *daemon) treesRoot() string { return d.registration.Worktrees() }

func (d *daemon) git() worktree.Git { return worktree.Git{Environ: d.environ} }

// placeTree finds the place of an agent's own worktree, and makes it the
// agent's directory. It is zero for an agent that has none.
func (d *daemon) placeTree(ws *workspace.Workspace, ag *workspace.Agent, session string) worktree.Place {
	if !ag.Worktree {
		return worktree.Place{}
	}
	p := worktree.Plan(worktree.Spec{
		Root: d.treesRoot(), Workspace: ws.Name, Agent: ag.Name, Dir: ag.Dir, Base: ag.WorktreeBase, Session: session, Provider: ag.SessionProvider,
	})
	ag.Dir = p.WorkDir
	return p
}

// treeMaker makes an agent's worktree when it starts; nil for one that has none.
func (d *daemon) treeMaker(p worktree.Place) func(context.Context) (string, error) {
	if p.Path == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		note, err := d.git().Make(ctx, p)
		if r, unread := worktree.Made(p); err == nil && unread == nil {
			d.trees.add(shownTree(d.git().Look(ctx, r))) // the next look at all may be a while off
		}
		return note, err
	}
}
