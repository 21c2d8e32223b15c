package filelock_test

import (
	"os"
	"testing"

	"den/internal/base/filelock"

	"golang.org/x/sys/unix"
)

// Who waited for the release has a shared lock for a moment. A probe in that
// moment must not take it for the holder's.
func TestWaiterIsNoHolder(t *testing.T) {
	path := lockPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waiter, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close() // Best effort: it was only read.
	if err := unix.FcntlFlock(waiter.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		t.Fatal(err)
	}
	if held, err := filelock.Held(path); err != nil || held {
		t.Errorf("Held = %v, %v", held, err)
	}
}
