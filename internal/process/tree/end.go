package tree

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/wake"
	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// The steps that ask a tree to end. A stopped process must run to hear of it.
var (
	HangUp    = []syscall.Signal{unix.SIGHUP, unix.SIGCONT}
	Terminate = []syscall.Signal{unix.SIGTERM, unix.SIGCONT}
)

// The last step: SIGKILL again every killRound for KillLimit. Only a process
// stuck in the kernel outlives that.
const (
	KillLimit = 5 * time.Second
	killRound = 50 * time.Millisecond
)

// End ends the tree. Each step asks harder and lasts until the tree is empty
// or grace is over; then it kills. It returns how many processes had to be
// killed. Of several calls at a time one does the work and the others wait for
// it, and asking is over when the first of them has waited all its graces.
func (t *Tree) End(grace time.Duration, steps ...[]syscall.Signal) (killed int, err error) {
	patience := time.AfterFunc(times(grace, len(steps)), t.hurry)
	defer patience.Stop()
	t.asking.Lock()
	defer t.asking.Unlock()
	for _, signals := range steps {
		if t.isHurried() {
			break
		}
		asked := map[pty.Process]bool{}
		ask := func() int { return t.signal(asked, signals...) }
		if ask() == 0 && t.empty() || t.emptyWithin(grace, t.hurried, ask) {
			return t.killed, nil
		}
	}
	return t.kill()
}

// times is n graces, however long one is.
func times(grace time.Duration, n int) time.Duration {
	const forever = 1<<63 - 1
	if n > 0 && grace > forever/time.Duration(n) {
		return forever
	}
	return grace * time.Duration(n)
}

// hurry ends the asking of whoever asks.
func (t *Tree) hurry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isHurried() {
		close(t.hurried)
	}
}

func (t *Tree) isHurried() bool { return wake.IsClosed(t.hurried) }

// kill does not ask. Each round signals what is there by then: a process may
// fork while others die.
func (t *Tree) kill() (killed int, err error) {
	for deadline := time.Now().Add(KillLimit); time.Now().Before(deadline); {
		n := t.signal(map[pty.Process]bool{}, unix.SIGKILL)
		if err := t.cgroup.kill(); err != nil {
			return t.killed, err
		}
		t.killed = max(t.killed, n)
		if n == 0 && t.empty() || t.emptyWithin(killRound, nil, nil) {
			return t.killed, nil
		}
	}
	return t.killed, fault.Hintf(fault.Errorf(fault.Busy, "processes %v do not end, even when killed", t.Processes()),
		"they hang in the kernel: check the devices and mounts that they use")
}

// signal sends the signals to every process of the tree that was not asked
// before, and returns how many there are in all. The lock keeps dead children from being reaped; the start time tells
// a grandchild from a process that got its number meanwhile.
func (t *Tree) signal(asked map[pty.Process]bool, signals ...syscall.Signal) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	tree := t.processes()
	for _, p := range tree {
		if !asked[p] {
			asked[p] = true
			send(p, signals...)
		}
	}
	return len(tree)
}

// send signals exactly this process. The handle stands for one process, so
// what is found true of the number after it was opened is true of the handle.
func send(p pty.Process, signals ...syscall.Signal) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return // it has ended
	}
	defer handle.Release() // Best effort: it only frees the handle.
	if now, ok := pty.Lookup(p.PID); !ok || now != p {
		return
	}
	for _, sig := range signals {
		handle.Signal(sig) // Best effort: it may have ended.
	}
}

func (t *Tree) nextReaped() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reaped
}

// empty reports whether nothing is left of the tree. The kernel's lists of
// children miss a process for a moment while its parent dies, so an empty tree
// is believed when this process has no child at all, which is exact, or when
// it stays empty: hosts that were started inside are children too.
func (t *Tree) empty() bool {
	for range 30 {
		if len(t.processes()) > 0 {
			return false
		}
		if childless() {
			return true
		}
		time.Sleep(100 * time.Microsecond) // most often the last one is dead, and about to be reaped
	}
	return true
}

// EmptyWithin waits until the tree is empty, and reports whether it is.
func (t *Tree) EmptyWithin(limit time.Duration) bool { return t.emptyWithin(limit, nil, nil) }

// emptyWithin is EmptyWithin that ends early. Every process of the tree
// becomes a child of this one before the last one ends, so the only moments to
// check are those after a child was reaped. Then those are asked, too, that were
// forked while others were: a shell that dies of the signal leaves them.
func (t *Tree) emptyWithin(limit time.Duration, early <-chan struct{}, ask func() int) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		next := t.nextReaped() // before the check, so that none is missed
		if t.empty() {
			return true
		}
		select {
		case <-next:
			if ask != nil {
				ask()
			}
		case <-early:
			return false
		case <-deadline.C:
			return false
		}
	}
}

// CatchSignals makes this process fit to hold a tree. The channel receives
// SIGTERM and SIGINT, by which the system asks a process to end. Signals of
// terminals and alarms are caught and dropped, not ignored: exec hands an
// ignored signal on, and then no interrupt could reach the program.
func CatchSignals() chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	asked := make(chan os.Signal, 2) // the first asks, the second hurries
	CatchAgain(asked)
	return asked
}

// CatchAgain has the channel receive SIGTERM and SIGINT after signal.Stop.
func CatchAgain(asked chan os.Signal) { signal.Notify(asked, unix.SIGTERM, unix.SIGINT) }

// EndOnSignal calls end at the first signal, and again, with no grace period, at
// the second. It returns when stop is closed and its calls have returned.
func EndOnSignal(asked <-chan os.Signal, stop <-chan struct{}, grace time.Duration, end func(by os.Signal, grace time.Duration)) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for _, grace := range []time.Duration{grace, 0} {
		select {
		case by := <-asked:
			calls.Go(func() { end(by, grace) })
		case <-stop:
			return
		}
	}
	<-stop
}

// UntilSignalled is the life of a process that ends when it is told to. A
// terminal that hangs up does not end it.
func UntilSignalled() (context.Context, context.CancelFunc) {
	signal.Ignore(unix.SIGHUP)
	return signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
}

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
// others die, and after processes that were exiting or executing are through. It
// gives up after KillLimit, but not before leastSearches: on a busy machine a
// search alone may take as long.
func Sweep(ctx context.Context, mark string) (killed int, err error) {
	limited, cancel := context.WithTimeout(ctx, KillLimit)
	defer cancel()
	seen := map[int]bool{}
	for tries, searches := 0, 0; ; {
		if searches++; searches > leastSearches {
			ctx = limited
		}
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
		if err := poll.Pause(ctx, time.Millisecond); err != nil {
			return len(seen), fault.Errorf(fault.KindOf(err), "kill processes %v: %w", left, err)
		}
	}
}

// leastSearches is how often a sweep looks for processes before its time is up.
const leastSearches = 10

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
