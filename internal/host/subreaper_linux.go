package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes orphans of the session the host's children.
func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}
