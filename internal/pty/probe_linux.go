//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// probing is what one probe works with; probes of one terminal take turns.
type probing struct {
	mu  sync.Mutex // guards the fields below
	buf [8192]byte

	id      slaveID
	group   int
	procs   []procStat // below the roots, of any group
	members []procStat // of the foreground group
	threads []thread
	waits   []waiting
	termios unix.Termios
}

// thread is one thread of the foreground group.
type thread struct {
	proc  *procStat
	tid   int
	state byte
	call  syscallLine
	err   error // why call is not known, or nil
}

// Probe asks the kernel whether the program in the foreground waits for its
// user. It never blocks, reads nothing but the foreground group's files, and
// starts nothing. See Readiness for what the answer means.
func (p *PTY) Probe() Readiness {
	w := &p.probe
	w.mu.Lock()
	defer w.mu.Unlock()

	var r Readiness
	err := p.control("probe the terminal", func(fd int) (err error) {
		if r.Group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
			return err
		}
		t, err := getTermios(fd)
		if err == nil {
			w.termios = *t
		}
		return err
	})
	if err != nil {
		return Readiness{State: Unknown, Why: err.Error()}
	}
	r.Echo, r.Canonical = w.termios.Lflag&unix.ECHO != 0, w.termios.Lflag&unix.ICANON != 0
	if r.Group <= 0 {
		r.State, r.Why = Unknown, "no process group is in the terminal's foreground"
		return r
	}
	w.id, w.group = p.id, r.Group
	w.findMembers(p.probeRoots())
	if len(w.members) == 0 {
		r.State, r.Why = Unknown, fmt.Sprintf("process group %d has no process below this host", r.Group)
		return r
	}
	if by, running := w.findThreads(); running {
		r.State, r.PID = Busy, by.pid
		r.Why = fmt.Sprintf("%s (pid %d) runs", by.comm, by.pid)
		r.Command = CommandLine(by.pid)
		return r
	}
	before, ok := w.fingerprint()
	w.waits = w.waits[:0]
	for i := range w.threads {
		if wt := w.classify(&w.threads[i]); wt.kind != 0 {
			w.waits = append(w.waits, wt)
		}
	}
	var by waiting
	r.State, r.Why, by, r.OnlyTimers = decide(w.waits, !r.Canonical)
	r.PID, r.Timeout = by.pid, by.timeout
	if by.kind != reads {
		r.Timeout = 0
	}
	if by.pid != 0 {
		r.Command = CommandLine(by.pid)
	}
	if r.State == Busy {
		return r
	}
	r.Fingerprint = before
	if r.State == Ready || r.OnlyTimers {
		p.settle(&r, ok, by)
	}
	return r
}

// settle looks at the terminal's queues, and then at the threads again: had
// one run since the first look, what was seen would not be one moment.
func (p *PTY) settle(r *Readiness, counted bool, by waiting) {
	w := &p.probe
	r.InputPending, r.OutputPending = p.pending()
	after, ok := w.fingerprint()
	group, err := p.ForegroundGroup()
	who := fmt.Sprintf("%s (pid %d)", by.comm, by.pid)
	switch {
	case r.InputPending:
		r.State, r.Why = Busy, who+" has not read all that was typed"
	case r.OutputPending:
		r.State, r.Why = Busy, who+" waits for the terminal, but its output is not read yet"
	case !counted || !ok:
		r.State, r.Why = Unknown, "the kernel does not count when "+who+" runs"
	case after != r.Fingerprint || err != nil || group != r.Group:
		r.State, r.Why = Busy, who+" ran during the probe"
	}
	if r.State == Busy {
		r.OnlyTimers, r.Timeout, r.Fingerprint = false, 0, Fingerprint{}
	}
}

// pending tells whether input waits for the program and output for the host.
// Polling a terminal makes the kernel first move what was written at the
// other end and is still on its way, so nothing hides in between.
func (p *PTY) pending() (input, output bool) {
	err := p.control("look at the terminal's queues", func(master int) error {
		slave, err := openSlave(master, p.id.name)
		if err != nil {
			return err
		}
		defer unix.Close(slave)
		fds := []unix.PollFd{{Fd: int32(slave), Events: unix.POLLIN}, {Fd: int32(master), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, 0)
			if err == unix.EINTR {
				continue
			}
			input, output = fds[0].Revents != 0, fds[1].Revents != 0
			return err
		}
	})
	if err != nil {
		return true, true // Not known to be empty.
	}
	return input, output
}

func (p *PTY) probeRoots() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roots == nil {
		return []int{os.Getpid()}
	}
	return p.roots
}

// findMembers fills procs and members.
func (w *probing) findMembers(roots []int) {
	var walk treeWalk
	walk.found = w.procs[:0]
	self := os.Getpid()
	for _, root := range roots {
		if root != self {
			if st, ok := readStat(root); ok && !walk.has(root) {
				walk.found = append(walk.found, st)
			}
		}
		walk.walk(root)
	}
	w.procs, w.members = walk.found, w.members[:0]
	for _, st := range w.procs {
		if st.pgrp == w.group && st.alive() {
			w.members = append(w.members, st)
		}
	}
}

// findThreads fills threads and stops at the first that runs.
func (w *probing) findThreads() (by procStat, running bool) {
	w.threads = w.threads[:0]
	for i := range w.members {
		m := &w.members[i]
		if m.threads == 1 && m.state != 'Z' {
			running = w.addThread(m, m.pid)
		} else {
			tasks(m.pid, func(tid int) { running = running || w.addThread(m, tid) })
		}
		if running {
			return *m, true
		}
	}
	return procStat{}, false
}

// addThread reports whether the thread runs.
func (w *probing) addThread(m *procStat, tid int) (running bool) {
	t := thread{proc: m, tid: tid, state: m.state}
	if tid != m.pid || m.threads != 1 {
		data, err := readInto(w.buf[:], taskPath(m.pid, tid, "stat"))
		st, ok := parseStat(data)
		if err != nil || !ok {
			return false // It ended.
		}
		t.state = st.state
	}
	switch t.state {
	case 'Z', 'X', 'x':
		return false
	case 'T', 't': // Stopped: it goes on when somebody says so.
		w.threads = append(w.threads, t)
		return false
	case 'S', 'I':
	default:
		return true
	}
	data, err := readInto(w.buf[:], taskPath(m.pid, tid, "syscall"))
	if err == unix.ESRCH || err == unix.ENOENT && !threadLives(m.pid, tid) {
		return false
	}
	ok := false
	if err == nil {
		t.call, ok = parseSyscall(data)
		if !ok {
			err = fmt.Errorf("its system call reads %q", data)
		}
	}
	t.err = err
	w.threads = append(w.threads, t)
	return ok && (t.call.running || t.call.outside)
}

func threadLives(pid, tid int) bool {
	var st unix.Stat_t
	return unix.Stat(taskPath(pid, tid, ""), &st) == nil
}

// fingerprint sums up how often each thread was put on a processor.
func (w *probing) fingerprint() (Fingerprint, bool) {
	f := Fingerprint{Group: w.group, Threads: len(w.threads)}
	for _, t := range w.threads {
		data, err := readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "schedstat"))
		ran, switches, ok := parseSchedstat(data)
		if err != nil || !ok {
			data, err = readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "status"))
			if switches, ok = parseSwitches(data); err != nil || !ok {
				return Fingerprint{}, false
			}
		}
		// A sum, not a chain: the order of threads is not the kernel's to keep.
		f.Sum += mix(uint64(t.tid)) ^ mix(ran+mix(switches))
	}
	return f, true
}

// mix spreads a number over 64 bits (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// readTimeout is how long a read of the terminal waits at most: a program in
// raw mode may have asked the terminal itself for a limit.
func (w *probing) readTimeout() time.Duration {
	if w.termios.Lflag&unix.ICANON != 0 || w.termios.Cc[unix.VMIN] > 0 {
		return 0
	}
	return time.Duration(w.termios.Cc[unix.VTIME]) * 100 * time.Millisecond
}
