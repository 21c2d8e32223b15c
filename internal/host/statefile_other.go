//go:build !linux

package host

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stateFile writes the state to a file that is unlinked at once.
func stateFile(s handover) (int, error) {
	f, err := os.CreateTemp("", "den-state-*")
	if err != nil {
		return 0, fmt.Errorf("hand over state: %w", err)
	}
	defer f.Close()
	os.Remove(f.Name()) // Best effort: it is closed to others.
	if err := json.NewEncoder(f).Encode(s); err != nil {
		return 0, fmt.Errorf("hand over state: %w", err)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 0, fmt.Errorf("hand over state: %w", err)
	}
	return fd, nil
}
