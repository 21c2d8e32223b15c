package host

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newStateFile makes an anonymous file in memory: that works with a full disk,
// and the screen's content never reaches a file system.
func newStateFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("den-state", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hand over state: %w", err)
	}
	return os.NewFile(uintptr(fd), "state"), nil
}

// nap sleeps for less than a millisecond, which Go's timers cannot. It blocks
// a thread.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // broken off by a signal: then it was shorter
}

// unreadIn counts the bytes in a pipe that nobody has read.
func unreadIn(pipe *os.File) (n int) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) // it is open
	}
	return n
}
