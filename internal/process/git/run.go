// Package git runs git for den, never under a configuration that an agent can
// write.
//
// Whoever works in a repository can write its configuration, its hooks and its
// attributes, and git runs programs that are named there. So git is never
// pointed at such a repository: see [View] for what it gets instead. What den
// asks of a repository without running git is read here, too: where its parts
// are, a few settings, and which files its index has.
package git

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/process/tree"
)

// Git runs the git binary.
type Git struct {
	Environ []string // of the user
	// Mark is the value of tree.RunnerMark for what is run: nothing that a
	// git of den's started may decide what agents may do. "" means "git".
	Mark string
}

// flags keep git from running anything else, and from asking anybody.
var flags = []string{
	"--no-pager", "--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

const (
	maxText = 1 << 20 // of an answer that is kept
	maxSaid = 4 << 10 // of what git says of an error
)

// fixed is in every environment.
var fixed = []string{
	"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_GRAFT_FILE=/dev/null/none",
	"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
}

// plain is the environment of a git that needs nothing of the user: where
// programs are, and where the user's lists of ignored files are.
func (g Git) plain() []string {
	env := slices.Clone(fixed)
	for _, kv := range g.Environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains([]string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"}, name) {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ALLOW_PROTOCOL=none")
}

// usersOwn begin the names of those variables for git that are about the user
// and the network. The others name repositories, or parts of one.
var usersOwn = []string{"GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_CONFIG"}

// online is the environment of a git that works for the user, with the user's
// configuration and keys. protocols are all that it may use, "" for those that
// the user allows.
func (g Git) online(protocols string) []string {
	var env []string
	for _, kv := range g.Environ {
		if !strings.HasPrefix(kv, "GIT_") || slices.ContainsFunc(usersOwn, func(own string) bool { return strings.HasPrefix(kv, own) }) {
			env = append(env, kv)
		}
	}
	if env = append(env, fixed...); protocols == "" {
		return env
	}
	return append(env, "GIT_ALLOW_PROTOCOL="+protocols)
}

// call is one call of git.
type call struct {
	dir   string
	env   []string
	lock  *os.File // that git, and what it starts, has open while it runs; or nil
	in    io.Reader
	out   io.Writer
	err   io.Writer // or nil
	sweep bool      // what left git's group ends with it, too
	args  []string
}

// run runs git to its end. When the context ends, all that git has started does.
func (g Git) run(ctx context.Context, c call) error {
	cmd := exec.CommandContext(ctx, "git", append(slices.Clone(flags), c.args...)...)
	said := &bounded{most: maxSaid}
	process := tree.RunnerProcessMark + "=" + rand.Text()
	mark := g.Mark
	if mark == "" {
		mark = "git"
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, c.in, c.out, said
	cmd.Env = append(slices.Clone(c.env), tree.RunnerMark+"="+mark, process)
	if c.err != nil {
		cmd.Stderr = io.MultiWriter(said, c.err)
	}
	if c.lock != nil {
		cmd.ExtraFiles = []*os.File{c.lock}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well, and something that it started has its output
		err = nil
	}
	if c.sweep || ctx.Err() != nil { // ssh may have left the group
		if _, left := tree.Sweep(context.WithoutCancel(ctx), process); left != nil && err == nil {
			err = left
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fault.Hintf(fault.Errorf(fault.NotFound, "git is not installed"), "install git")
	case ctx.Err() != nil:
		return fault.Errorf(fault.Timeout, "git %s: it did not end in time: %w", verb(c.args), ctx.Err())
	}
	return &failure{verb: verb(c.args), said: strings.TrimSpace(said.String()), err: err}
}

// Installed reports whether there is a git to run.
func Installed() bool {
	_, err := exec.LookPath("git")
	return err == nil
}

// verb is what git was asked to do, for messages.
func verb(args []string) string {
	var words []string
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && len(words) < 2 && !strings.ContainsAny(a, "/{:") && (i == 0 || args[i-1] != "-c") {
			words = append(words, a)
		}
	}
	return strings.Join(words, " ")
}

// failure is a git that said no.
type failure struct {
	verb, said string
	err        error
}

func (e *failure) Error() string {
	if e.said == "" {
		return "git " + e.verb + ": " + e.err.Error()
	}
	return "git " + e.verb + ": " + e.said
}

func (e *failure) Unwrap() error { return e.err }

// Exited reports whether git ran and ended with that status.
func Exited(err error, status int) bool {
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
