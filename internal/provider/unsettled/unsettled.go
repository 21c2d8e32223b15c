// Package unsettled waits for processes of which nobody can tell for a moment
// whose they are.
//
// den knows processes by a mark in their environment. A process on its way out
// gives back its memory first, and its mark with it, and its files and their
// locks after that. One that executes another program has no environment
// either until that one is laid out. Both moments are long on a busy machine,
// and what is missed in them would meet its successor.
package unsettled

import (
	"context"
	"time"
)

// limit bounds the wait: only a process that is stuck in the kernel takes
// longer.
const limit = time.Second

// Await returns when all processes of this user that are in such a moment are
// out of it. It reports whether there were any: who looked for marks before
// must look again.
func Await(ctx context.Context) (some bool) {
	end := time.Now().Add(limit)
	for _, pid := range all() {
		some = true
		for is(pid) && time.Now().Before(end) {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(200 * time.Microsecond):
			}
		}
	}
	return some
}
