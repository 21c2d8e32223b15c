// Package exiting waits for processes that are on their way out.
//
// On its way out a process gives back its memory first, and with it the mark
// by which den knows whose it was, and its files and their locks after that.
// For a moment, which is long on a busy machine, nobody can tell whose it is,
// and it still holds what its successor wants.
package exiting

import (
	"context"
	"time"
)

// limit bounds the wait: only a process that is stuck in the kernel takes
// longer.
const limit = time.Second

// Await returns when all processes of this user that are on their way out now
// are gone, or have kept nothing but their status. They are few, and soon gone.
func Await(ctx context.Context) {
	end := time.Now().Add(limit)
	for _, pid := range leaving() {
		for leaves(pid) && time.Now().Before(end) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}
}
