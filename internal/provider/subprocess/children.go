package subprocess

import (
	"den/internal/provider/children"

	"golang.org/x/sys/unix"
)

// started are the shims that this process started, through whichever Provider:
// children are a process's.
var started children.Set

// reap waits for a child that has ended or is about to.
func reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}
