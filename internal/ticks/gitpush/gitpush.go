// Package gitpush pushes the commits of a data repository, as far as that needs no
// person.
//
// It runs on this machine, with the user's keys, and the agent can write the
// repository. So it runs nothing that the repository's configuration or hooks
// name, and takes only the names and addresses of remotes from the configuration.
// For an agent that lives in a container it takes not even these: it pushes to
// where the user has said, from a copy of the objects.
package gitpush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"den/internal/base/fault"
	"den/internal/process/git"
)

// defaultLimit is how long everything may take together.
const defaultLimit = 30 * time.Second

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
	Git git.Git // with the user's environment
	Dir string
	// Confined says that the agent cannot run programs on this machine by
	// itself, and must not by a push. Then the push goes to Remote, a URL that
	// the user has given.
	Confined bool
	Remote   string
	Store    string        // for a copy of a confined agent's objects, kept from push to push
	Limit    time.Duration // 0 means 30 s
}

// Push pushes the current branch. It never asks anybody for anything, and ends
// within its limit. What goes wrong is a Result and no error: it is tried again
// after the next tick.
func (p Pusher) Push(ctx context.Context) Result {
	_, err := os.Lstat(filepath.Join(p.Dir, ".git"))
	if errors.Is(err, fs.ErrNotExist) {
		return Result{Skipped, "it is not a git repository"}
	}
	if err != nil {
		return Result{Failed, err.Error()}
	}
	p.Limit = cmp.Or(p.Limit, defaultLimit)
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	if p.Confined {
		return p.pushConfined(ctx)
	}
	r, err := p.pushHere(ctx)
	if err != nil {
		return p.failed(err)
	}
	return r
}

// failed is a push that did not come about.
func (p Pusher) failed(err error) Result {
	text := cut(clean(err.Error()))
	switch kind := fault.KindOf(err); {
	case kind == fault.Denied || kind == fault.Unsupported:
		return Result{Refused, text}
	case errors.Is(err, context.DeadlineExceeded):
		return Result{Failed, fmt.Sprintf("it took longer than %s and was ended", p.Limit)}
	}
	return Result{Failed, text}
}

// pushHere pushes for an agent that lives on this machine, to the remote that
// its repository names.
func (p Pusher) pushHere(ctx context.Context) (Result, error) {
	r, err := git.At(p.Dir)
	if err != nil {
		return Result{}, err
	}
	r.Top = "" // its files do not matter
	v, err := p.Git.Open(r)
	if err != nil {
		return Result{}, err
	}
	defer v.Close()
	branch := v.Head.Branch()
	remote, url, err := target(v.Config, branch)
	switch {
	case err != nil:
		return Result{}, err
	case url == "" && p.Remote == "":
		return Result{Skipped, "it has no remote"}, nil
	case url == "":
		url = p.Remote
	}
	if branch == "" {
		return Result{Skipped, "no branch is checked out"}, nil
	}
	commit, err := v.Run(ctx, "rev-parse", "--verify", "--quiet", v.Head.Ref+"^{commit}")
	if git.Exited(err, 1) {
		return Result{Skipped, "it has no commits"}, nil
	}
	if err != nil {
		return Result{}, err
	}
	said, err := v.Push(ctx, url, commit, branch)
	if err != nil {
		r := p.failed(err)
		r.Detail += fmt.Sprintf("; by hand: git -C '%s' push -u %s %s", p.Dir, cmp.Or(remote, clean(url)), branch)
		return r, nil
	}
	if remote != "" {
		_, err = v.Run(ctx, "update-ref", "refs/remotes/"+remote+"/"+branch, commit)
	}
	return outcome(said), err
}

// target is the remote that a branch is pushed to, as git chooses it, and its
// address; "" for none.
func target(c git.Config, branch string) (remote, url string, err error) {
	names := c.Remotes()
	for _, name := range []string{c.Last("branch." + branch + ".pushremote"), c.Last("remote.pushdefault"), c.Last("branch." + branch + ".remote"), "origin"} {
		if slices.Contains(names, name) {
			remote = name
			break
		}
	}
	if remote == "" && len(names) == 1 {
		remote = names[0]
	}
	if remote == "" {
		return "", "", nil
	}
	urls := c.All("remote." + remote + ".pushurl")
	if len(urls) == 0 {
		urls = c.All("remote." + remote + ".url")
	}
	if len(urls) != 1 {
		return "", "", fault.Errorf(fault.Denied, "its remote %s has %d addresses, and den pushes to one", remote, len(urls))
	}
	if to := c.Last("branch." + branch + ".merge"); to != "" && to != "refs/heads/"+branch && c.Last("branch."+branch+".remote") == remote {
		return "", "", fault.Errorf(fault.Denied, "its branch %s follows %s, and den pushes to the branch of the same name", branch, to)
	}
	return remote, urls[0], nil
}

// pushConfined pushes for an agent that lives in a container.
func (p Pusher) pushConfined(ctx context.Context) Result {
	switch {
	case p.Remote == "":
		return Result{Skipped, "no remote is registered for it, and what an agent in a container has configured is not used; remove the instance and register it with one: den kernel init NAME --path " + p.Dir + " URL"}
	case !git.IsRemote(p.Remote):
		return Result{Refused, "for an agent in a container the remote must be an https or ssh URL"}
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return p.failed(err)
	}
	defer root.Close() // Best effort: what was written through it is closed.
	t, err := p.Git.Take(ctx, root, p.Store)
	if err != nil {
		return p.failed(err)
	}
	branch := t.Head.Branch()
	if branch == "" {
		return Result{Skipped, "no branch is checked out"}
	}
	if t.Commit == "" {
		return Result{Skipped, "it has no commits"}
	}
	said, err := t.Push(ctx, p.Remote, t.Commit, branch)
	if err != nil {
		return p.failed(err)
	}
	r := outcome(said)
	for _, name := range t.Config.Remotes() {
		if slices.Contains(t.Config.All("remote."+name+".url"), p.Remote) {
			if err := t.Track(name, branch); err != nil {
				r.Detail = strings.TrimSpace(r.Detail + " (" + cut(clean(err.Error())) + ")")
			}
		}
	}
	return r
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

// maxCause is how much of an error is repeated.
const maxCause = 600

func cut(text string) string {
	if len(text) > maxCause {
		return "…" + strings.ToValidUTF8(text[len(text)-maxCause:], "")
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
