//go:build !linux

package host

import (
	"fmt"
	"os"
	"time"
)

// newStateFile makes a file that is unlinked at once.
func newStateFile() (*os.File, error) {
	f, err := os.CreateTemp("", "den-state-*")
	if err != nil {
		return nil, fmt.Errorf("hand over state: %w", err)
	}
	os.Remove(f.Name()) // Best effort: it is closed to others.
	return f, nil
}

// nap sleeps for less than a millisecond where the system can.
func nap(d time.Duration) { time.Sleep(d) }

// unreadIn counts the bytes in a pipe that nobody has read, where the system
// can.
func unreadIn(*os.File) int { return 0 }
