// Package tree manages process trees: it starts detached processes, and
// finds, signals, reaps and ends all processes below one.
package tree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
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

// HostMark is the environment variable that marks the processes that hold a
// tree: hosts and shims. Its value is the session's ID.
const HostMark = "DEN_HOST"

// SessionMark is the environment variable that marks the processes of a
// session, so that they can be found after their holder was killed. Its value is
// the session's Mark.
const SessionMark = "DEN_SESSION_MARK"

// RunnerMark is the environment variable that marks the processes of an agent
// that is driven by a protocol. Sessions that the agent starts do not inherit
// it: they outlive the agent.
const RunnerMark = "DEN_RUNNER_MARK"

// RunnerProcessMark is the environment variable that marks what one process of
// such an agent starts.
const RunnerProcessMark = "DEN_RUNNER_PROCESS"

// Mark returns the value of SessionMark: the session's ID with the device and
// the inode of its directory. A directory that is moved keeps its mark. A copy
// has another, so nothing that is done to a copy reaches the processes of the
// original.
func Mark(id, dir string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return "", fmt.Errorf("identify directory %s: %w", dir, err)
	}
	return fmt.Sprintf("%s-%x-%x", id, st.Dev, st.Ino), nil
}

// Below lists the live processes below root, but for the hosts and shims that
// were started there and what belongs to them.
func Below(root int) []int {
	return numbers(below(root))
}

func numbers(found []pty.Process) []int {
	pids := make([]int, len(found))
	for i, p := range found {
		pids[i] = p.PID
	}
	return pids
}

func below(root int) []pty.Process { return withoutHosts(pty.Processes(root)) }

// withoutHosts leaves out hosts and shims and what is below them.
func withoutHosts(all []pty.Process) []pty.Process {
	foreign := map[int]bool{}
	for _, p := range all {
		if !foreign[p.PID] && IsHost(p.PID) {
			foreign[p.PID] = true
			for _, pid := range pty.Descendants(p.PID) {
				foreign[pid] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(p pty.Process) bool { return foreign[p.PID] })
}

// IsHost reports whether a process is a host, a shim or a keeper: den's own
// program, called and marked as one, that holds a lock, as of a session or of a
// workspace. Mark and arguments alone are what any program can choose for
// itself, to outlive its session.
func IsHost(pid int) bool {
	id, ok := pty.Env(pid, HostMark)
	return ok && slices.Contains(pty.Arguments(pid), id) && runsDen(pid) && holdsLock(pid)
}

// denPrograms are the main packages of the binaries that hosts, shims and
// keepers run. They may be of another version than this one.
var denPrograms = []string{"den/cmd/den", "den/cmd/dend"}

// runsDen reports whether a process runs this program, or den of any version.
func runsDen(pid int) bool {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if theirs, err := os.Stat(exe); err == nil {
		if ours, err := os.Stat("/proc/self/exe"); err == nil && os.SameFile(theirs, ours) {
			return true
		}
	}
	return slices.Contains(denPrograms, mainPackage(exe))
}

// holdsLock reports whether a process holds a lock as package filelock makes
// them, by one of its descriptors.
func holdsLock(pid int) bool {
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	return err == nil && slices.ContainsFunc(infos, func(path string) bool {
		raw, err := os.ReadFile(path)
		return err == nil && bytes.Contains(raw, []byte("OFDLCK"))
	})
}

// transitionLimit bounds the wait. Only a process that is stuck in the kernel
// takes longer.
const transitionLimit = time.Second

// transitions finds the processes that are in transition.
var transitions = &SharedScan[[]int]{Scan: inTransition}

// AwaitTransitions waits for the processes of this user that are exiting or
// executing another program. For that moment nobody can tell whose they are: a
// process that exits gives back its memory first, with the mark in its
// environment, and its files and their locks after that; one that executes
// another program has no environment until that one is laid out. On a busy
// machine both take long. It reports whether there were any: a search for
// marks before it has to be repeated.
func AwaitTransitions(ctx context.Context) (some bool) {
	end := time.Now().Add(transitionLimit)
	for _, pid := range transitions.Find() {
		for isInTransition(pid) {
			if !time.Now().Before(end) {
				return some // it is stuck, or has no arguments: searching again finds no more
			}
			if poll.Pause(ctx, 200*time.Microsecond) != nil {
				return false
			}
		}
		some = true
	}
	return some
}
