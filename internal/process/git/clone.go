package git

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"den/internal/base/fault"
)

// Clone clones a repository for the user, who is asked for nothing. What git
// says goes to stderr.
func (g Git) Clone(ctx context.Context, url, branch, dir string, stderr io.Writer) error {
	args := []string{"clone", "--quiet"}
	if branch != "" {
		args = append(args, "--branch="+branch)
	}
	if err := g.run(ctx, call{env: g.online(""), err: stderr, sweep: true, args: append(args, "--", url, dir)}); err != nil {
		return fault.Errorf(fault.KindOf(err), "clone %s: %w", url, err)
	}
	return nil
}

// Init puts a directory under version control, unless it is.
func (g Git) Init(ctx context.Context, dir string) error {
	if IsTop(dir) {
		return nil
	}
	if err := g.run(ctx, call{dir: dir, env: g.online(""), args: []string{"init", "--quiet"}}); err != nil {
		return fault.Errorf(fault.KindOf(err), "put %s under version control: %w", dir, err)
	}
	return nil
}

// IsTop reports whether a directory is the top of a working tree.
func IsTop(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// Origin is the URL that 'git push' goes to in a working tree, as its own
// configuration says; "" for none.
func Origin(top string) (string, error) {
	r, err := At(top)
	if err != nil {
		return "", err
	}
	c, err := readConfig(filepath.Join(r.Common, "config"))
	if url := c.Last("remote.origin.pushurl"); url != "" || err != nil {
		return url, err
	}
	return c.Last("remote.origin.url"), nil
}
