package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps for less than a millisecond, which Go's timers cannot. It blocks
// a thread.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // broken off by a signal: then it was shorter
}
