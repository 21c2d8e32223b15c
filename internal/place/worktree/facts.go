package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/process/git"
)

// gather asks for all that decides about a tree. What could not be asked is in
// unknown.
func (g Git) gather(ctx context.Context, r Record) facts {
	f := facts{Status: Status{Record: r}}
	f.unknown = g.ask(ctx, &f)
	f.Problem = f.unknown
	return f
}

func (g Git) ask(ctx context.Context, f *facts) error {
	if err := check(f.Record); err != nil {
		return err
	}
	v, err := g.view(f.Record)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := lookIn(ctx, v, &f.Status, "--ignored=traditional"); err != nil {
		return err
	}
	if !f.repository().Linked() {
		return fmt.Errorf("its .git does not name its repository any more")
	}
	for _, ask := range []func(context.Context, *git.View, *facts) error{findCommits, findStashes, findHidden, findState, findNested} {
		if f.Unborn {
			return nil
		}
		if err := ask(ctx, v, f); err != nil {
			return err
		}
	}
	return nil
}

// findCommits counts what is in no other place: of what is checked out, of the
// agent's own branch, and of references that only this tree has.
func findCommits(ctx context.Context, v *git.View, f *facts) error {
	tip, err := v.Run(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+f.Branch)
	if err != nil && !git.Exited(err, 1) { // 1: there is no such branch
		return err
	}
	revisions := []string{"HEAD", "--glob=refs/worktree/*"}
	if f.tip = tip; tip != "" {
		revisions = append(revisions, tip)
	}
	revisions = append(revisions, "--not")
	if !f.BaseGone {
		revisions = append(revisions, f.Base)
		if f.unbased, err = count(ctx, v, revisions...); err != nil {
			return err
		}
	}
	f.unmerged, err = count(ctx, v, append(revisions, "--remotes")...)
	return err
}

// findStashes counts the stashes that were made in the tree. All trees share
// one list: a stash names the branch that it was made on, unless that was none
// or another command made it, as rebase does; then the commit has to tell.
func findStashes(ctx context.Context, v *git.View, f *facts) error {
	_, err := v.Run(ctx, "show-ref", "--verify", "--quiet", "refs/stash")
	if git.Exited(err, 1) {
		return nil
	}
	if err != nil {
		return err
	}
	branches, commits, err := visited(f.Record)
	if err != nil {
		return err
	}
	branches[f.Branch] = true
	if f.Head != "" {
		branches[f.Head] = true
	}
	out := &lines{end: '\n', take: func(line string) {
		parents, message, ok := strings.Cut(line, "\t")
		first, _, _ := strings.Cut(parents, " ")
		branch := stashedOn(message)
		if ok && (branches[branch] || branch == "" && commits[first]) {
			f.stashes++
		}
	}}
	return v.Stream(ctx, nil, out, "log", "--no-show-signature", "--walk-reflogs", "--format=%P%x09%gs", "refs/stash", "--")
}

// stashedOn is the branch that a stash's message names: "WIP on BRANCH: ..." or
// "On BRANCH: ..."; "" for none.
func stashedOn(message string) string {
	for _, begin := range []string{"WIP on ", "On "} {
		rest, ok := strings.CutPrefix(message, begin)
		branch, _, also := strings.Cut(rest, ": ")
		if ok && also && !strings.ContainsAny(branch, " (") {
			return branch
		}
	}
	return ""
}

// maxLog bounds the log of a tree; one that is larger keeps the tree.
const maxLog = 64 << 20

// visited reads from the tree's own log which branches and commits were checked
// out in it.
func visited(r Record) (branches, commits map[string]bool, err error) {
	branches, commits = map[string]bool{}, map[string]bool{}
	raw, err := atomicfile.Read(filepath.Join(r.GitDir, "logs", "HEAD"), maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return branches, commits, nil // logs are switched off
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read its log: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		who, what, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		for _, hash := range strings.Fields(who)[:min(2, len(strings.Fields(who)))] {
			commits[hash] = true
		}
		if way, ok := strings.CutPrefix(what, "checkout: moving from "); ok {
			for branch := range strings.SplitSeq(way, " to ") {
				branches[branch] = true
			}
		}
	}
	return branches, commits, nil
}

// findHidden counts the files whose changes git does not tell of because it was
// asked not to look.
func findHidden(ctx context.Context, v *git.View, f *facts) error {
	out := &lines{take: func(line string) {
		tag, name, _ := strings.Cut(line, " ")
		if tag != "S" && tag == strings.ToUpper(tag) { // in lower case: assumed to be unchanged
			return
		}
		// Of a sparse checkout most files are not there.
		if _, err := os.Lstat(filepath.Join(f.Path, name)); !errors.Is(err, fs.ErrNotExist) {
			f.hidden++
		}
	}}
	return v.Stream(ctx, nil, out, "ls-files", "-v", "-z")
}

// operations are files of a git directory that stand for something begun.
var operations = []struct{ file, what string }{
	{"rebase-merge", "a rebase"},
	{"rebase-apply", "a rebase"},
	{"MERGE_HEAD", "a merge"},
	{"CHERRY_PICK_HEAD", "a cherry-pick"},
	{"REVERT_HEAD", "a revert"},
	{"BISECT_LOG", "a bisection"},
	{"index.lock", "a git command"},
}

// findState looks for what git keeps of the tree beside its commits.
func findState(_ context.Context, _ *git.View, f *facts) error {
	for _, o := range operations {
		if exists(filepath.Join(f.GitDir, o.file)) && f.operation == "" {
			f.operation = o.what
		}
	}
	f.locked = exists(filepath.Join(f.GitDir, "locked"))
	f.submodules = exists(filepath.Join(f.GitDir, "modules")) || exists(filepath.Join(f.Path, ".gitmodules"))
	return nil
}

// exists reports whether something is there, or may be.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// findNested looks for another repository in the tree: where its directory is
// ignored, git does not tell of it.
func findNested(ctx context.Context, _ *git.View, f *facts) error {
	return filepath.WalkDir(f.Path, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Name() == ".git" && filepath.Dir(path) != f.Path {
			f.nested = filepath.Dir(path)
			return filepath.SkipAll
		}
		return nil
	})
}
