package host

import (
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"den/internal/home"
	"den/internal/pty"
	"den/internal/wire"

	"golang.org/x/sys/unix"
)

// processes is the program and all that it started. The host is a subreaper:
// whatever its session leaves behind becomes its child, so the tree below the
// host is the whole of it.
type processes struct {
	program int

	mu     sync.Mutex // guards the fields below
	status unix.WaitStatus
	when   time.Time
	over   bool
	reaped chan struct{} // closed, and replaced, when a child was reaped

	ended chan struct{} // closed when the program has ended
	done  chan struct{} // closed when the record is closed
}

func newProcesses(program int) *processes {
	return &processes{program: program, ended: make(chan struct{}), reaped: make(chan struct{}), done: make(chan struct{})}
}

// reap collects children as they end. The host starts processes only through
// pty.Start, so nobody else waits for them.
func (p *processes) reap(stop <-chan struct{}) {
	sigchld := make(chan os.Signal, 1)
	signal.Notify(sigchld, unix.SIGCHLD)
	defer signal.Stop(sigchld)
	for {
		p.collect()
		select {
		case <-sigchld:
		case <-stop:
			return
		}
	}
}

func (p *processes) collect() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		p.mu.Lock()
		if pid == p.program && !p.over {
			p.status, p.when, p.over = ws, time.Now(), true
			close(p.ended)
		}
		close(p.reaped)
		p.reaped = make(chan struct{})
		p.mu.Unlock()
	}
}

func (p *processes) exit() wire.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.Signaled() {
		sig := p.status.Signal()
		return wire.Exit{Code: 128 + int(sig), Signal: unix.SignalName(sig)}
	}
	return wire.Exit{Code: p.status.ExitStatus()}
}

func (p *processes) endTime() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.when
}

func (p *processes) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// finish says that the record is closed.
func (p *processes) finish() { close(p.done) }

// tree returns the session's processes: all below the host, but for hosts
// that were started inside it and what belongs to them.
func (p *processes) tree() []int {
	all := pty.Descendants(os.Getpid())
	foreign := map[int]bool{}
	for _, pid := range all {
		if pty.HasEnv(pid, home.HostMark) {
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

// killAll ends the tree: each stage asks harder, lasts until the tree is empty
// or its time is up, and the last one does not ask. It returns how many
// processes had to be killed, and whether all are gone.
func (p *processes) killAll(grace time.Duration) (killed int, gone bool) {
	stages := []struct {
		signals []syscall.Signal
		limit   time.Duration
	}{
		{[]syscall.Signal{unix.SIGHUP, unix.SIGCONT}, grace}, // a stopped job must run to hear of it
		{[]syscall.Signal{unix.SIGTERM, unix.SIGCONT}, grace},
	}
	for _, stage := range stages {
		if p.send(stage.signals...) == 0 && p.empty() {
			return 0, true
		}
		if p.emptyWithin(stage.limit) {
			return 0, true
		}
	}
	for deadline := time.Now().Add(killLimit); time.Now().Before(deadline); {
		n := p.send(unix.SIGKILL) // again each time: one may fork while others die
		if n == 0 && p.empty() {
			return killed, true
		}
		killed = max(killed, n)
		if p.emptyWithin(killRound) {
			return killed, true
		}
	}
	log.Printf("kill: processes %v do not end", p.tree())
	return killed, false
}

// The last stage: SIGKILL again every killRound for killLimit. Only a process
// stuck in the kernel outlives that.
const (
	killLimit = 5 * time.Second
	killRound = 50 * time.Millisecond
)

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

// empty reports whether nothing is left of the tree. The kernel's lists of
// children miss a process for a moment while its parent dies, so an empty tree
// is believed when the host has no child at all, which is exact, or when it
// stays empty: hosts that were started inside are children too.
func (p *processes) empty() bool {
	for range 30 {
		if len(p.tree()) > 0 {
			return false
		}
		if childless() {
			return true
		}
		time.Sleep(100 * time.Microsecond) // most often the last one is dead, and about to be reaped
	}
	return true
}

// emptyWithin waits until the tree is empty. Every process of it becomes a
// child of the host before the last one ends, so a reaped child is the only
// moment at which to look.
func (p *processes) emptyWithin(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		next := p.nextReaped() // before the look, so that none is missed
		if p.empty() {
			return true
		}
		select {
		case <-next:
		case <-deadline.C:
			return false
		}
	}
}
