package worktree

import (
	"bytes"

	"den/internal/process/git"
)

// Git makes, looks at and removes worktrees with the git binary.
type Git git.Git

// view shows a worktree to git as it was made: the .git file in it could name
// another repository.
func (g Git) view(r Record) (*git.View, error) { return git.Git(g).Open(r.repository()) }

func (r Record) repository() git.Repository {
	return git.Repository{Top: r.Path, Dir: r.GitDir, Common: r.Common}
}

// lines calls take with every line that is written to it, as it comes.
type lines struct {
	end  byte // of a line
	take func(line string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, l.end)
		if i < 0 {
			return len(p), nil
		}
		l.take(string(l.rest[:i]))
		l.rest = l.rest[i+1:]
	}
}
