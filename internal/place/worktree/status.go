package worktree

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"den/internal/base/fault"
	"den/internal/process/git"
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
