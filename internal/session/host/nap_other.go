//go:build !linux

package host

import "time"

// nap sleeps for less than a millisecond where the system can.
func nap(d time.Duration) { time.Sleep(d) }
