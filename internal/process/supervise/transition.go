package supervise

import (
	"context"
	"time"
)

// transitionLimit bounds the wait. Only a process that is stuck in the kernel
// takes longer.
const transitionLimit = time.Second

// transitions finds the processes that are in transition.
var transitions = &sharedScan{scan: inTransition}

// AwaitTransitions waits for the processes of this user that are exiting or
// executing another program. For that moment nobody can tell whose they are: a
// process that exits gives back its memory first, with the mark in its
// environment, and its files and their locks after that; one that executes
// another program has no environment until that one is laid out. On a busy
// machine both take long. It reports whether there were any: a search for
// marks before it has to be repeated.
func AwaitTransitions(ctx context.Context) (some bool) {
	end := time.Now().Add(transitionLimit)
	for _, pid := range transitions.find() {
		for isInTransition(pid) {
			if !time.Now().Before(end) {
				return some // it is stuck, or has no arguments: searching again finds no more
			}
			select {
			case <-ctx.Done():
				return false
			case <-time.After(200 * time.Microsecond):
			}
		}
		some = true
	}
	return some
}
