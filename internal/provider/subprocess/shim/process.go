package shim

import (
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/pty"

	"golang.org/x/sys/unix"
)

// processes is the command and all that it started. The shim is a subreaper:
// whatever the command leaves behind becomes its child, so the tree below the
// shim is the whole of it.
type processes struct {
	pid     int // the command's, and its group's
	sigchld chan os.Signal
	ended   chan struct{} // closed when the command has ended

	ending sync.Mutex // one endAll at a time

	mu     sync.Mutex // guards the fields below
	status unix.WaitStatus
	when   time.Time
	over   bool
	reaped chan struct{} // closed, and replaced, when a child was reaped
}

// newProcesses must come before the command starts: no end is missed then.
func newProcesses() *processes {
	p := &processes{ended: make(chan struct{}), reaped: make(chan struct{}), sigchld: make(chan os.Signal, 1)}
	signal.Notify(p.sigchld, unix.SIGCHLD)
	return p
}

// reap collects children as they end, until stop.
func (p *processes) reap(stop <-chan struct{}) {
	defer signal.Stop(p.sigchld)
	for {
		for p.collect() {
		}
		select {
		case <-p.sigchld:
		case <-stop:
			return
		}
	}
}

// collect takes one dead child, under the lock: while somebody holds it, no
// number of a process of ours is given to another.
func (p *processes) collect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ws unix.WaitStatus
	pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
	if err == unix.EINTR {
		return true
	}
	if err != nil || pid <= 0 {
		return false
	}
	if pid == p.pid && !p.over {
		p.status, p.when, p.over = ws, time.Now(), true
		close(p.ended)
	}
	close(p.reaped)
	p.reaped = make(chan struct{})
	return true
}

// end is how the command ended.
func (p *processes) end(id string) *End {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := &End{ID: id, At: p.when.UTC().Round(0)}
	if p.status.Signaled() {
		e.Code, e.Signal = 128+int(p.status.Signal()), unix.SignalName(p.status.Signal())
		return e
	}
	e.Code = p.status.ExitStatus()
	return e
}

// interrupt is Ctrl-C without a terminal: a signal to the command's group.
func (p *processes) interrupt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return fault.Errorf(fault.NotRunning, "the command has ended")
	}
	if err := unix.Kill(-p.pid, unix.SIGINT); err != nil {
		return fault.Errorf(fault.Internal, "interrupt process group %d: %w", p.pid, err)
	}
	return nil
}

// tree returns the session's processes: all below the shim, but for hosts and
// shims that were started inside it and what belongs to them.
func (p *processes) tree() []int {
	all := pty.Descendants(os.Getpid())
	foreign := map[int]bool{}
	for _, pid := range all {
		if !foreign[pid] && pty.HasEnv(pid, home.HostMark) {
			foreign[pid] = true
			for _, below := range pty.Descendants(pid) {
				foreign[below] = true
			}
		}
	}
	mine := all[:0]
	for _, pid := range all {
		if !foreign[pid] {
			mine = append(mine, pid)
		}
	}
	return mine
}

// The last step: SIGKILL again every killRound for killLimit. Only a process
// stuck in the kernel outlives that.
const (
	killLimit = 5 * time.Second
	killRound = 50 * time.Millisecond
)

// endAll asks the tree to end, gives it until grace is over, and then kills
// it. It returns as soon as all are gone.
func (p *processes) endAll(grace time.Duration) error {
	p.ending.Lock()
	defer p.ending.Unlock()
	// A stopped process must run to hear of it.
	if p.send(unix.SIGTERM, unix.SIGCONT) == 0 || p.emptyWithin(grace) {
		return nil
	}
	for deadline := time.Now().Add(killLimit); time.Now().Before(deadline); {
		// Again each time: one may fork while others die.
		if p.send(unix.SIGKILL) == 0 || p.emptyWithin(killRound) {
			return nil
		}
	}
	left := p.tree()
	log.Printf("processes %v do not end", left)
	return fault.Hintf(fault.Errorf(fault.Busy, "processes %v do not end, even when killed", left), "they hang in the kernel: look at the devices and mounts that they use")
}

func (p *processes) send(signals ...syscall.Signal) int {
	tree := p.tree()
	for _, pid := range tree {
		for _, sig := range signals {
			unix.Kill(pid, sig) // Best effort: it may have ended.
		}
	}
	return len(tree)
}

func (p *processes) nextReaped() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reaped
}

// emptyWithin waits until the tree is empty. Every process of it becomes a
// child of the shim before the last one ends, so a reaped child is the only
// moment at which to look.
func (p *processes) emptyWithin(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		next := p.nextReaped() // before the look, so that none is missed
		if len(p.tree()) == 0 {
			return true
		}
		select {
		case <-next:
		case <-deadline.C:
			return false
		}
	}
}
