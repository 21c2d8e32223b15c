package git

import (
	"context"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
)

// scpLike is user@host:path.
var scpLike = pattern(`^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^:]`)

// IsRemote reports whether a push to a URL runs nothing on this machine but ssh
// or git's own https client.
func IsRemote(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "ssh://") || scpLike().MatchString(url)
}

// Push pushes a commit to a branch of another repository, with the user's keys,
// without force and without hooks. It returns what git says with --porcelain.
//
// The URL is one that IsRemote knows, or the path of a bare repository on this
// machine. The other side of the push runs here then: it gets a view of that
// repository, and so runs no hooks of it either.
func (v *View) Push(ctx context.Context, url, commit, branch string) (string, error) {
	protocols := "https:ssh"
	if path, ok := localPath(url); ok {
		there, err := v.git.openBare(path)
		if err != nil {
			return "", err
		}
		defer there.Close()
		url, protocols = there.dir, "file"
	} else if !IsRemote(url) {
		return "", fault.Errorf(fault.Denied, "den pushes to https and ssh URLs, and to bare repositories of this machine")
	}
	if !isRef("refs/heads/" + branch) {
		return "", fault.Errorf(fault.Denied, "the branch's name %.100q is not one that den pushes", branch)
	}
	ssh, err := v.ssh(ctx, protocols)
	if err != nil {
		return "", err
	}
	args := []string{"push", "--porcelain", "--recurse-submodules=no", "--no-verify", "--", url, commit + ":refs/heads/" + branch}
	return v.online(ctx, call{sweep: true, args: args}, protocols, "GIT_SSH_COMMAND="+ssh)
}

func localPath(url string) (string, bool) {
	path := strings.TrimPrefix(url, "file://")
	return path, filepath.IsAbs(path)
}

// openBare makes a view of a repository that has no working tree.
func (g Git) openBare(path string) (*View, error) {
	r := Repository{Dir: path, Common: path}
	if err := r.check(); err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "push to %s: it is no bare git repository: %w", path, err)
	}
	v, err := g.Open(r)
	if err == nil && !isTrue(v.Config.Last("core.bare")) {
		v.Close()
		err = fault.Errorf(fault.Denied, "push to %s: it is no bare git repository", path)
	}
	return v, err
}

// online runs git with the user's own configuration.
func (v *View) online(ctx context.Context, c call, protocols string, env ...string) (string, error) {
	out := &bounded{most: maxText}
	c.dir, c.out, c.env = v.dir, out, append(append(v.git.online(protocols), v.environ()...), env...)
	err := v.git.run(ctx, c)
	return out.String(), err
}

// ssh is the user's ssh command, told not to ask for anything.
func (v *View) ssh(ctx context.Context, protocols string) (string, error) {
	const quiet = " -o BatchMode=yes"
	if own := v.git.getenv("GIT_SSH_COMMAND"); own != "" {
		return own + quiet, nil
	}
	own, err := v.online(ctx, call{args: []string{"config", "--get", "core.sshCommand"}}, protocols)
	if err != nil && !Exited(err, 1) {
		return "", err
	}
	if own = strings.TrimSpace(own); own == "" {
		own = "ssh"
	}
	return own + quiet, nil
}
