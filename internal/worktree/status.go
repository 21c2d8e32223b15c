package worktree

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"den/internal/fault"
)

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
	BaseGone  bool   // Ahead and Behind are not known
	Problem   error  // why nothing of it is known, or nil
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
	out := &lines{end: '\n', take: s.take}
	if err := g.stream(ctx, nil, s.Path, out, s.in("status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty", ignored)...); err != nil {
		return err
	}
	if s.Unborn {
		return nil
	}
	counts, err := g.run(ctx, s.Path, s.in("--no-replace-objects", "rev-list", "--left-right", "--count", s.Base+"...HEAD", "--")...)
	if exited(err, 128) {
		s.BaseGone, err = g.baseGone(ctx, s.Record, err)
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
func (g Git) baseGone(ctx context.Context, r Record, other error) (bool, error) {
	_, err := g.run(ctx, r.Path, r.in("rev-parse", "--verify", "--quiet", r.Base+"^{commit}")...)
	if exited(err, 1) {
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

// in makes arguments for the tree as it was made: a file in it could name
// another repository, with commands to run.
func (r Record) in(args ...string) []string {
	return append([]string{"--git-dir=" + r.GitDir, "--work-tree=" + r.Path}, args...)
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
		s.Ignored++
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
func (g Git) count(ctx context.Context, r Record, revisions ...string) (int, error) {
	dir := r.Common // the tree may be gone
	out, err := g.run(ctx, dir, append([]string{"--git-dir=" + r.GitDir, "--no-replace-objects", "rev-list", "--count"}, append(revisions, "--")...)...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("git rev-list: %w", err)
	}
	return n, nil
}
