package cli

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"den/internal/fault"
)

// isRepository reports whether a directory is one that git knows.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// originOf is the URL that 'git push' of a repository goes to, as its own
// configuration says now; "" if there is none. It is recorded when a person
// registers the repository: once an agent lives in it, the agent writes that
// configuration.
func originOf(ctx context.Context, dir string) (string, error) {
	if _, err := exec.LookPath("git"); err != nil || !isRepository(dir) {
		return "", nil // nothing is pushed from it
	}
	for _, key := range []string{"remote.origin.pushurl", "remote.origin.url"} {
		out, err := exec.CommandContext(ctx, "git", "-C", dir, "config", "--local", "--get", key).Output()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return strings.TrimSpace(string(out)), nil
		case errors.As(err, &exit) && exit.ExitCode() == 1: // it is not set
			continue
		case errors.As(err, &exit):
			return "", fault.Hintf(fault.Errorf(fault.Internal, "find the remote of %s: git: %s", dir, strings.TrimSpace(string(exit.Stderr))), "name it: den kernel init NAME --path DIR URL")
		}
		return "", fault.Errorf(fault.Internal, "find the remote of %s: %w", dir, err)
	}
	return "", nil
}

// withoutPassword is a URL as it can be printed.
func withoutPassword(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil {
		return remote // also user@host:path, which has none
	}
	return u.Redacted()
}
