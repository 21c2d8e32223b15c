package cli

import (
	"net/url"

	"den/internal/base/fault"
	"den/internal/process/git"
)

// originOf is the URL that 'git push' of a repository goes to, as its own
// configuration says now; "" if there is none. It is recorded when a person
// registers the repository: once an agent lives in it, the agent writes that
// configuration.
func originOf(dir string) (string, error) {
	if !git.IsTop(dir) {
		return "", nil // nothing is pushed from it
	}
	origin, err := git.Origin(dir)
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.KindOf(err), "find the remote of %s: %w", dir, err), "name it: den kernel init NAME --path DIR URL")
	}
	return origin, nil
}

// withoutPassword is a URL as it can be printed.
func withoutPassword(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil {
		return remote // also user@host:path, which has none
	}
	return u.Redacted()
}
