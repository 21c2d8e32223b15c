// Package supervise manages process trees: it starts detached processes, and
// finds, signals, reaps and ends all processes below one.
package supervise

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// Tree is a program, its leader, and all that it started. The process that
// holds it is a subreaper: whatever the program leaves behind becomes its
// child, so the tree below it is complete.
type Tree struct {
	leader int
	cgroup Cgroup        // in which the leader was started, or zero
	ended  chan struct{} // closed when the leader has ended

	asking sync.Mutex // held while End asks and kills

	mu      sync.Mutex // guards the fields below; held while children are reaped or signalled
	exit    Exit
	over    bool
	reaped  chan struct{} // closed, and replaced, when a child was reaped
	hurried chan struct{} // closed when nobody has patience any more
	killed  int
}

// Exit is how the leader ended.
type Exit struct {
	Code   int    // 128 and the signal's number where a signal ended it
	Signal string // its name, or ""
	At     time.Time
}

// Adopt returns the Tree of a child of this process that was started in the
// cgroup, if that is not zero. The child may have ended already, but must not
// have been waited for.
func Adopt(leader int, cgroup Cgroup) *Tree {
	return &Tree{leader: leader, cgroup: cgroup, ended: make(chan struct{}), reaped: make(chan struct{}), hurried: make(chan struct{})}
}

// Leader is the program's process number.
func (t *Tree) Leader() int { return t.leader }

// Reap collects children as they end, until stop. Nobody else in this process
// may wait for children meanwhile.
func (t *Tree) Reap(stop <-chan struct{}) {
	sigchld := make(chan os.Signal, 1)
	signal.Notify(sigchld, unix.SIGCHLD) // before the first collect, so that no end is missed
	defer signal.Stop(sigchld)
	for {
		for t.collect() {
		}
		select {
		case <-sigchld:
		case <-stop:
			return
		}
	}
}

// collect takes one dead child, under the lock: while somebody holds it, the
// number of a child of ours is not given to another process.
func (t *Tree) collect() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
	if err == unix.EINTR {
		return true
	}
	if err != nil || pid <= 0 {
		return false
	}
	if pid == t.leader && !t.over {
		t.exit, t.over = exitOf(status), true
		close(t.ended)
	}
	close(t.reaped)
	t.reaped = make(chan struct{})
	return true
}

func exitOf(status unix.WaitStatus) Exit {
	if status.Signaled() {
		sig := status.Signal()
		return Exit{Code: 128 + int(sig), Signal: unix.SignalName(sig), At: time.Now()}
	}
	return Exit{Code: status.ExitStatus(), At: time.Now()}
}

// Ended is closed when the leader has ended.
func (t *Tree) Ended() <-chan struct{} { return t.ended }

// Over reports whether the leader has ended.
func (t *Tree) Over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// Exit returns how the leader ended, once it has.
func (t *Tree) Exit() Exit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit
}

// SignalGroup sends a signal to the leader's process group, as a key of a
// terminal does.
func (t *Tree) SignalGroup(sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return fault.Errorf(fault.NotRunning, "the command has ended")
	}
	if err := unix.Kill(-t.leader, sig); err != nil {
		return fault.Errorf(fault.Internal, "send %s to process group %d: %w", unix.SignalName(sig), t.leader, err)
	}
	return nil
}

// Processes lists the live processes of the tree.
func (t *Tree) Processes() []int { return numbers(t.processes()) }

// processes are those below this process and those in the cgroup: a process
// may leave either, but hardly both.
func (t *Tree) processes() []pty.Process {
	found := below(os.Getpid())
	have := map[int]bool{}
	for _, p := range found {
		have[p.PID] = true
	}
	for _, p := range t.cgroup.own() {
		if !have[p.PID] {
			found = append(found, p)
		}
	}
	return found
}
