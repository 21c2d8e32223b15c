package supervise

import (
	"context"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/pty"
)

// sweepTries bounds the repeated searches when some environments could not be
// read.
const sweepTries = 5

// SweepSession kills what is left of a session whose holder is gone: what is in
// the cgroup that its record names, if any, and what bears the mark.
func SweepSession(ctx context.Context, id, cgroup, mark string) (killed int, err error) {
	// A record may have been written by what ran in a container.
	if c := (Cgroup{Path: cgroup}); c.Belongs(id) {
		if killed, err = c.Sweep(); err != nil {
			return killed, err
		}
	}
	marked, err := Sweep(ctx, mark)
	return killed + marked, err
}

// Sweep kills every process whose environment has the entry mark ("KEY=VALUE"):
// what is left of a tree whose holder was killed. It returns when none is left,
// with their number. It searches again after each kill, for one may fork while
// others die, and after processes that were exiting or executing are through.
func Sweep(ctx context.Context, mark string) (killed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, KillLimit)
	defer cancel()
	seen := map[int]bool{}
	for tries := 0; ; {
		left := pty.Marked(mark)
		for _, pid := range left {
			seen[pid] = true
			syscall.Kill(pid, syscall.SIGKILL) // Best effort: it may have ended.
		}
		if len(left) == 0 {
			if tries++; tries > sweepTries || !AwaitTransitions(ctx) {
				return len(seen), nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return len(seen), fault.Errorf(fault.KindOf(ctx.Err()), "kill processes %v: %w", left, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}
