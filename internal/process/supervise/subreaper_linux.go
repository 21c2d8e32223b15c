package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes orphans below this process its children.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}
