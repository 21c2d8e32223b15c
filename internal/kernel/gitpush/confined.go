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

	"den/internal/atomicfile"
)

// The repository's configuration, its hooks and its remotes are the agent's to
// write. So git runs with a repository of den's own, which has none of these,
// and finds the commits in the agent's one as in an alternate. That there is no
// other repository behind the agent's is checked first: its commits would leave
// this machine, and an agent in a container cannot read them.

// noHooks has git run in the agent's repository without its hooks.
var noHooks = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}

func (p Pusher) pushConfined(ctx context.Context, dotGit fs.FileInfo) Result {
	switch {
	case p.Remote == "":
		return Result{Skipped, "no remote is registered for it, and what an agent in a container has configured is not used; remove the instance and register it with one: den kernel init NAME --path " + p.Dir + " URL"}
	case !allowedURL(p.Remote):
		return Result{Refused, "for an agent in a container the remote must be an https or ssh URL"}
	case !dotGit.IsDir():
		return Result{Refused, "its .git is not a directory"}
	}
	if why, err := elsewhere(p.Dir); err != nil {
		return Result{Failed, err.Error()}
	} else if why != "" {
		return Result{Refused, why}
	}
	branch, commit, err := p.head(ctx)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	if branch == "" {
		return Result{Skipped, "no branch is checked out"}
	}
	if commit == "" {
		return Result{Skipped, "it has no commits"}
	}
	own, err := p.bare(ctx, commit)
	if err != nil {
		return Result{Failed, err.Error()}
	}
	defer os.RemoveAll(own) // Best effort: it is in the directory for temporary files, and has nothing in it.
	r := p.push(ctx, own, map[string]string{
		"GIT_DIR":            own,
		"GIT_ALLOW_PROTOCOL": "https:ssh",
	}, "push", "--porcelain", "--", p.Remote, commit+":refs/heads/"+branch)
	if r.Status == Pushed || r.Status == Nothing {
		if err := p.track(ctx, branch, commit); err != nil {
			r.Detail = strings.TrimSpace(r.Detail + " (" + err.Error() + ")")
		}
	}
	return r
}

// scpLike is user@host:path.
var scpLike = regexp.MustCompile(`^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^:]`)

// allowedURL reports whether a push to a URL runs nothing on this machine but
// ssh or git's own https client.
func allowedURL(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "ssh://") || scpLike.MatchString(url)
}

// elsewhere says which part of the repository may not be below it, "" if none.
func elsewhere(dir string) (string, error) {
	git := filepath.Join(dir, ".git")
	for _, name := range []string{"commondir", "objects/info/alternates", "objects/info/http-alternates"} {
		_, err := os.Lstat(filepath.Join(git, name))
		if err == nil {
			return "it has a file .git/" + name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	for _, name := range []string{"", "objects", "objects/pack"} {
		entries, err := os.ReadDir(filepath.Join(git, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				return "it has a link " + filepath.Join(".git", name, e.Name()), nil
			}
		}
	}
	return "", nil
}

var (
	branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,200}$`)
	commitName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// head returns the branch that is checked out, "" if none is, and its last
// commit, "" if it has none.
func (p Pusher) head(ctx context.Context) (branch, commit string, err error) {
	r, err := p.run(ctx, p.Dir, nil, append(noHooks, "symbolic-ref", "--quiet", "--short", "HEAD")...)
	if err != nil || r.Code != 0 {
		return "", "", err
	}
	branch = strings.TrimSpace(r.Stdout)
	if !branchName.MatchString(branch) || strings.Contains(branch, "..") {
		return "", "", fmt.Errorf("the branch's name %.100q is not one that den pushes", branch)
	}
	r, err = p.run(ctx, p.Dir, nil, append(noHooks, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")...)
	if err != nil || r.Code != 0 {
		return branch, "", err
	}
	commit = strings.TrimSpace(r.Stdout)
	if !commitName.MatchString(commit) {
		return "", "", fmt.Errorf("git rev-parse: %.100q is no commit", commit)
	}
	return branch, commit, nil
}

// maxShallow bounds the list of commits whose parents are missing.
const maxShallow = 1 << 20

// bare makes an empty repository that git runs with, and that finds the agent's
// objects.
func (p Pusher) bare(ctx context.Context, commit string) (dir string, err error) {
	dir, err = os.MkdirTemp("", "den-push-")
	if err != nil {
		return "", err
	}
	if err := p.fillBare(ctx, dir, commit); err != nil {
		os.RemoveAll(dir) // Best effort: it has nothing in it.
		return "", err
	}
	return dir, nil
}

func (p Pusher) fillBare(ctx context.Context, dir, commit string) error {
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	if _, err := p.git(ctx, dir, nil, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "."); err != nil {
		return err
	}
	shallow, err := atomicfile.Read(filepath.Join(p.Dir, ".git", "shallow"), maxShallow)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), shallow, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	objects := filepath.Join(p.Dir, ".git", "objects")
	if strings.Contains(objects, "\n") {
		return errors.New("the repository's path has a line break")
	}
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600)
}

var remoteURL = regexp.MustCompile(`(?m)^remote\.([A-Za-z0-9_-]+)\.url (.*)$`)

// track notes in the repository what the remote has now, as git does for a
// remote with a name.
func (p Pusher) track(ctx context.Context, branch, commit string) error {
	r, err := p.run(ctx, p.Dir, nil, append(noHooks, "config", "--local", "--get-regexp", `^remote\..*\.url$`)...)
	if err != nil || r.Code != 0 {
		return err // no remote has a name
	}
	for _, found := range remoteURL.FindAllStringSubmatch(r.Stdout, -1) {
		if found[2] != p.Remote {
			continue
		}
		if _, err := p.git(ctx, p.Dir, nil, append(noHooks, "update-ref", "refs/remotes/"+found[1]+"/"+branch, commit)...); err != nil {
			return err
		}
	}
	return nil
}
