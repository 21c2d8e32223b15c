package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
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
	return g.findUndone(ctx, f)
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

// undoneRefs is where commits are kept that were undone in trees which are gone.
const undoneRefs = "refs/den/undone/"

// findUndone looks in the logs that go with the tree for commits that only they
// name, as after a reset, an amendment or a rebase. It asks the repository, not the
// tree: a symbolic reference may lead to one that goes with the tree.
func (g Git) findUndone(ctx context.Context, f *facts) error {
	if f.Unborn {
		return nil
	}
	v, err := git.Git(g).Open(git.Repository{Dir: f.Common, Common: f.Common})
	if err != nil {
		return err
	}
	defer v.Close()
	_, logged, err := visited(f.Record)
	if err != nil {
		return err
	}
	if err := readLog(filepath.Join(f.Common, "logs", "refs", "heads", f.Branch), logged, nil); err != nil {
		return err
	}
	var revisions strings.Builder
	for hash := range logged {
		if strings.Trim(hash, "0") != "" && strings.Trim(hash, "0123456789abcdef") == "" { // the agent can write its log
			fmt.Fprintln(&revisions, hash)
		}
	}
	if revisions.Len() == 0 {
		return nil
	}
	var made []string
	parents := map[string]bool{}
	out := &lines{end: '\n', take: func(line string) {
		hashes := strings.Fields(line)
		made = append(made, hashes[0])
		for _, parent := range hashes[1:] {
			parents[parent] = true
		}
	}}
	// A commit that the repository has no more is missing without being missed.
	err = v.Stream(ctx, strings.NewReader(revisions.String()), out, "rev-list", "--ignore-missing", "--parents", "--stdin",
		"--not", "--branches", "--tags", "--remotes", "--glob="+undoneRefs+"*")
	f.undone = slices.DeleteFunc(made, func(hash string) bool { return parents[hash] })
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
	return branches, commits, readLog(filepath.Join(r.GitDir, "logs", "HEAD"), commits, branches)
}

// readLog adds the commits that a log of git names, and the branches that were
// checked out, unless branches is nil.
func readLog(path string, commits, branches map[string]bool) error {
	raw, err := atomicfile.Read(path, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // logs are switched off
	}
	if err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		who, what, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		for _, hash := range strings.Fields(who)[:min(2, len(strings.Fields(who)))] {
			commits[hash] = true
		}
		if way, ok := strings.CutPrefix(what, "checkout: moving from "); ok && branches != nil {
			for branch := range strings.SplitSeq(way, " to ") {
				branches[branch] = true
			}
		}
	}
	return nil
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

// Status is how a worktree is.
type Status struct {
	Record
	Head      string // the branch that is checked out, "" for none
	Unborn    bool   // which has no commit
	Ahead     int    // commits that the base does not have
	Behind    int    // commits of the base that it does not have
	Changed   int    // files with changes that are not committed
	Untracked int    // files, or directories of only such files
	Ignored   int    // likewise, where they were asked for
	// IgnoredOne is one of them, below the tree.
	IgnoredOne string
	BaseGone   bool  // Ahead and Behind are not known
	Problem    error // why nothing of it is known, or nil
}

// Look tells how a worktree is: by two calls of git, of which the first reads
// the whole tree.
func (g Git) Look(ctx context.Context, r Record) Status {
	s := Status{Record: r}
	s.Problem = g.look(ctx, &s, "--ignored=no")
	return s
}

func (g Git) look(ctx context.Context, s *Status, ignored string) error {
	if err := check(s.Record); err != nil {
		return err
	}
	v, err := g.view(s.Record)
	if err != nil {
		return err
	}
	defer v.Close()
	return lookIn(ctx, v, s, ignored)
}

func lookIn(ctx context.Context, v *git.View, s *Status, ignored string) error {
	out := &lines{end: '\n', take: s.take}
	if err := v.Stream(ctx, nil, out, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty", ignored); err != nil {
		return err
	}
	if s.Unborn {
		return nil
	}
	counts, err := v.Run(ctx, "rev-list", "--left-right", "--count", s.Base+"...HEAD", "--")
	if git.Exited(err, 128) {
		s.BaseGone, err = baseGone(ctx, v, s.Base, err)
		return err
	}
	if err != nil {
		return err
	}
	behind, ahead, _ := strings.Cut(counts, "\t")
	if s.Behind, err = strconv.Atoi(behind); err == nil {
		s.Ahead, err = strconv.Atoi(ahead)
	}
	return err
}

// baseGone tells a base that is gone from another error of git.
func baseGone(ctx context.Context, v *git.View, base string, other error) (bool, error) {
	_, err := v.Run(ctx, "rev-parse", "--verify", "--quiet", base+"^{commit}")
	if git.Exited(err, 1) {
		return true, nil
	}
	return false, other
}

// check says what keeps git from being asked.
func check(r Record) error {
	if r.State != ready {
		return fault.Errorf(fault.NotFound, "it was not finished")
	}
	if _, err := os.Stat(r.Path); err != nil {
		return fault.Errorf(fault.NotFound, "its directory is gone")
	}
	if _, err := os.Stat(r.Common); err != nil {
		return fault.Errorf(fault.NotFound, "its repository %s is gone", r.Common)
	}
	if _, err := os.Stat(r.GitDir); err != nil {
		return fault.Errorf(fault.NotFound, "its repository does not know it any more; 'git worktree repair' may help")
	}
	return nil
}

// take reads one line of a status.
func (s *Status) take(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "1", "2", "u":
		s.Changed++
	case "?":
		s.Untracked++
	case "!":
		if s.Ignored++; s.IgnoredOne == "" || rest < s.IgnoredOne {
			s.IgnoredOne = rest
		}
	case "#":
		if head, ok := strings.CutPrefix(rest, "branch.head "); ok && head != "(detached)" {
			s.Head = head
		}
		if oid, ok := strings.CutPrefix(rest, "branch.oid "); ok {
			s.Unborn = oid == "(initial)"
		}
	}
}

// count tells how many commits a list of revisions has.
func count(ctx context.Context, v *git.View, revisions ...string) (int, error) {
	out, err := v.Run(ctx, append([]string{"rev-list", "--count"}, append(revisions, "--")...)...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("git rev-list: %w", err)
	}
	return n, nil
}
