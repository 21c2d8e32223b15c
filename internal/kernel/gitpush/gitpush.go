// Package gitpush pushes the commits of a data repository, as far as that is
// possible without anybody's help.
//
// It runs on this machine, with the user's keys. An agent that lives in a
// container can write the repository's .git, and git runs programs and talks to
// servers that are named there. So for such an agent only the objects are taken
// from the repository: see confined.go.
package gitpush

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"den/internal/kernel/command"
	"den/internal/runner"
)

// defaultLimit is how long everything may take together.
const defaultLimit = 30 * time.Second

// keep is how much of git's output is read.
const keep = 256 << 10

// Status says what became of a push. The values are shown: add, never rename.
type Status string

// The statuses.
const (
	Pushed  Status = "pushed"
	Nothing Status = "up-to-date"
	Skipped Status = "skipped" // there is nothing to push, or nowhere
	Refused Status = "refused" // it would be no push of the agent's own commits
	Failed  Status = "failed"
)

// Result is what happened, for people.
type Result struct {
	Status Status
	Detail string // or ""
}

func (r Result) String() string {
	if r.Detail == "" {
		return string(r.Status)
	}
	return string(r.Status) + ": " + r.Detail
}

// Pusher pushes one repository.
type Pusher struct {
	Spawn runner.Spawner // on this machine
	Dir   string
	// Confined says that the agent cannot run programs on this machine by
	// itself, and must not by a push. Then the push goes to Remote, a URL that
	// the user has given.
	Confined bool
	Remote   string
	Getenv   func(string) string // for GIT_SSH_COMMAND; or nil
	Limit    time.Duration       // 0 means 30 s
}

// Push pushes the current branch. It never asks anybody for anything, and ends
// within its limit. What goes wrong is a Result and no error: it is tried again
// after the next tick.
func (p Pusher) Push(ctx context.Context) Result {
	fi, err := os.Lstat(filepath.Join(p.Dir, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		return Result{Skipped, "it is not a git repository"}
	}
	if err != nil {
		return Result{Failed, err.Error()}
	}
	if p.Limit == 0 {
		p.Limit = defaultLimit
	}
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	if p.Confined {
		return p.pushConfined(ctx, fi)
	}
	remotes, err := p.git(ctx, p.Dir, nil, "remote")
	if err != nil {
		return Result{Failed, err.Error()}
	}
	if strings.TrimSpace(remotes) == "" {
		return Result{Skipped, "it has no remote"}
	}
	return p.push(ctx, p.Dir, nil, "push", "--porcelain")
}

// push runs git push and reads what it says.
func (p Pusher) push(ctx context.Context, dir string, env map[string]string, args ...string) Result {
	ssh, err := p.ssh(ctx, dir)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	all := map[string]string{"GIT_SSH_COMMAND": ssh}
	for key, value := range env {
		all[key] = value
	}
	out, err := p.git(ctx, dir, all, args...)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	return outcome(out)
}

// outcome reads the lines of --porcelain: a flag, the refs and a summary,
// separated by tabs.
func outcome(porcelain string) Result {
	var refs []string
	for line := range strings.Lines(porcelain) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(fields) < 3 || fields[0] == "=" {
			continue
		}
		_, to, _ := strings.Cut(fields[1], ":")
		refs = append(refs, strings.TrimPrefix(to, "refs/heads/"))
	}
	if len(refs) == 0 {
		return Result{Status: Nothing}
	}
	return Result{Pushed, clean(strings.Join(refs, ", "))}
}

// ssh is the user's ssh command, told not to ask for anything.
func (p Pusher) ssh(ctx context.Context, dir string) (string, error) {
	const quiet = " -o BatchMode=yes"
	if p.Getenv != nil {
		if own := p.Getenv("GIT_SSH_COMMAND"); own != "" {
			return own + quiet, nil
		}
	}
	r, err := p.run(ctx, dir, nil, "config", "--get", "core.sshCommand")
	if err != nil {
		return "", err
	}
	if own := strings.TrimSpace(r.Stdout); r.Code == 0 && own != "" {
		return own + quiet, nil
	}
	return "ssh" + quiet, nil
}

// git runs git to a good end, and returns what it printed.
func (p Pusher) git(ctx context.Context, dir string, env map[string]string, args ...string) (string, error) {
	r, err := p.run(ctx, dir, env, args...)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("git %s: %s", verb(args), cause(r))
	}
	return r.Stdout, err
}

// run runs git. Only one that could not be run to its end is an error.
func (p Pusher) run(ctx context.Context, dir string, env map[string]string, args ...string) (command.Result, error) {
	all := map[string]string{
		"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never",
		"GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never",
	}
	for key, value := range env {
		all[key] = value
	}
	r, err := command.Run(ctx, p.Spawn, command.Spec{Argv: append([]string{"git"}, args...), Dir: dir, Env: all, Limit: p.Limit, Keep: keep})
	if r.TimedOut || errors.Is(err, context.DeadlineExceeded) {
		return r, fmt.Errorf("git %s: it took longer than %s and was ended", verb(args), p.Limit)
	}
	return r, err
}

// verb is git's subcommand.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// maxCause is how much of git's errors is repeated.
const maxCause = 600

// cause is why git failed, in its own words.
func cause(r command.Result) string {
	text := clean(strings.TrimSpace(r.Stderr))
	if len(text) > maxCause {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxCause:], "")
	}
	if text == "" {
		text = strings.TrimSpace(fmt.Sprintf("exit code %d %s", r.Code, r.Reason))
	}
	return text
}

// userinfo is the part of a URL that may be a password or a token.
var userinfo = regexp.MustCompile(`://[^/\s'"]*@`)

// clean removes secrets and control characters.
func clean(text string) string {
	text = userinfo.ReplaceAllString(text, "://…@")
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}
