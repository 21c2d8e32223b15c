package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"den/internal/fault"
)

// Git runs the git binary. Nothing that a repository names is run with it: no
// hook, no monitor of the file system, no upkeep in the background.
type Git struct {
	Environ []string // of the caller; git's own variables are left out
}

// quiet keeps git from running anything else, and from asking anybody.
var quiet = []string{
	"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
}

const (
	maxText = 1 << 20 // of an answer that is kept
	maxSaid = 4 << 10 // of what git says of an error
)

// environ is the caller's without what would lead git to another repository,
// and with messages in one language.
func (g Git) environ() []string {
	var env []string
	for _, kv := range g.Environ {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "LC_ALL=") && !strings.HasPrefix(kv, "LANGUAGE=") {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
}

// run returns what git prints, without the line end.
func (g Git) run(ctx context.Context, dir string, args ...string) (string, error) {
	return g.holding(ctx, nil, dir, args...)
}

// holding is run by a git that has a lock open for as long as it runs, and so
// has all that it starts. lock may be nil.
func (g Git) holding(ctx context.Context, lock *os.File, dir string, args ...string) (string, error) {
	out := &bounded{most: maxText}
	err := g.stream(ctx, lock, dir, out, args...)
	if err == nil && out.cut {
		err = fault.Errorf(fault.Internal, "git %s: it printed more than %d bytes", verb(args), maxText)
	}
	return strings.TrimRight(out.String(), "\n"), err
}

// stream has git write to out.
func (g Git) stream(ctx context.Context, lock *os.File, dir string, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append(append([]string(nil), quiet...), args...)...)
	said := &bounded{most: maxSaid}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, g.environ(), out, said
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	// git starts others of itself: all of them end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fault.Hintf(fault.Errorf(fault.NotFound, "git is not installed, and a worktree needs it"), "install git, or set 'worktree = false'")
	case ctx.Err() != nil:
		return fault.Errorf(fault.Timeout, "git %s: it did not end in time: %w", verb(args), ctx.Err())
	}
	return &gitError{verb: verb(args), said: strings.TrimSpace(said.String()), err: err}
}

// verb is what git was asked to do, for messages.
func verb(args []string) string {
	var words []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && len(words) < 2 && !strings.ContainsAny(a, "/{") {
			words = append(words, a)
		}
	}
	return strings.Join(words, " ")
}

// gitError is a git that said no.
type gitError struct {
	verb, said string
	err        error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return "git " + e.verb + ": " + e.err.Error()
	}
	return "git " + e.verb + ": " + e.said
}

func (e *gitError) Unwrap() error { return e.err }

// exited reports whether git ran and ended with that status.
func exited(err error, status int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == status
}

// bounded keeps the begin of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); len(p) > room {
		b.cut = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
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
