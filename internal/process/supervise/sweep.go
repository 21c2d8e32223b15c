package supervise

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/wake"
	"den/internal/process/pty"
)

// sweepTries bounds the repeated searches when some environments could not be
// read.
const sweepTries = 5

// SweepSession kills what is left of a session whose holder is gone: the
// processes in its cgroup and those whose environment has its mark. cgroup is
// what its record names; one that was not made for the mark is ignored, because
// a record may have been written by somebody else.
func SweepSession(ctx context.Context, mark, cgroup string) (killed int, err error) {
	if c := cgroupOf(mark, cgroup); c.Path != "" {
		if killed, err = c.Sweep(); err != nil {
			return killed, err
		}
	}
	marked, err := Sweep(ctx, SessionMark+"="+mark)
	return killed + marked, err
}

// LeftOf lists what SweepSession would kill.
func LeftOf(mark, cgroup string) []int {
	found := pty.Marked(SessionMark + "=" + mark)
	for _, p := range cgroupOf(mark, cgroup).own() {
		if !slices.Contains(found, p.PID) {
			found = append(found, p.PID)
		}
	}
	return found
}

// cgroupOf returns the cgroup of a session: the one that its record names or,
// where its holder ended before it wrote the record, the one that it would make.
func cgroupOf(mark, recorded string) Cgroup {
	if c := (Cgroup{Path: recorded}); c.Belongs(mark) {
		return c
	}
	if c := SessionCgroup(mark); c.Belongs(mark) {
		return c
	}
	return Cgroup{}
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
			killMarked(pid, mark)
		}
		if len(left) == 0 {
			if tries++; tries > sweepTries || !AwaitTransitions(ctx) {
				return len(seen), nil
			}
			continue
		}
		if err := wake.Pause(ctx, time.Millisecond); err != nil {
			return len(seen), fault.Errorf(fault.KindOf(err), "kill processes %v: %w", left, err)
		}
	}
}

// killMarked kills the process with this number if it has the mark. The handle
// stands for one process, whoever gets its number later.
func killMarked(pid int, mark string) {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return // it has ended
	}
	defer handle.Release() // Best effort: it only frees the handle.
	if slices.Contains(strings.Split(string(pty.Environ(pid)), "\x00"), mark) {
		handle.Kill() // Best effort: it may have ended.
	}
}

// SharedScan lets callers share an expensive scan: those that arrive during
// one share the next. Otherwise ending many sessions at once would scan all
// processes for each. A result is never older than the call.
type SharedScan[T any] struct {
	Scan func() T

	scanning sync.Mutex // held during a scan

	mu   sync.Mutex  // guards the field below
	next *oneScan[T] // the scan that has not begun, or nil
}

type oneScan[T any] struct {
	once  sync.Once
	found T
}

// Find returns what a scan has found.
func (s *SharedScan[T]) Find() T {
	one := s.join()
	one.once.Do(func() {
		s.scanning.Lock()
		defer s.scanning.Unlock()
		s.mu.Lock()
		s.next = nil // who comes from here on needs a younger scan
		s.mu.Unlock()
		one.found = s.Scan()
	})
	return one.found
}

// join returns the scan that has not begun.
func (s *SharedScan[T]) join() *oneScan[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &oneScan[T]{}
	}
	return s.next
}
