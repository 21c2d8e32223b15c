//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// probing is the working memory of a probe. Probes of one terminal take turns.
type probing struct {
	mu  sync.Mutex // guards the fields below
	buf [8192]byte

	id      slaveID
	group   int
	walk    treeWalk   // the processes below the roots, of any group
	members []procStat // of the foreground group
	threads []thread
	tids    []int
	waits   []waiting
	termios unix.Termios
}

// thread is one thread of the foreground group.
type thread struct {
	proc  procStat
	tid   int
	state byte // or 0 when it has ended
	call  syscallLine
	err   error // why call is not known, or nil
}

// Probe determines whether the foreground program waits for its user. It
// neither blocks nor starts anything. It reads /proc for the processes below
// the roots, in detail only for the foreground group. See Readiness for the
// meaning of the result.
func (p *PTY) Probe() Readiness {
	w := &p.probe
	w.mu.Lock()
	defer w.mu.Unlock()

	var r Readiness
	var err error
	if r.Group, w.termios, err = p.modes(); err != nil {
		return Readiness{State: Unknown, Why: err.Error(), Gone: true}
	}
	r.Echo, r.Canonical = w.termios.Lflag&unix.ECHO != 0, w.termios.Lflag&unix.ICANON != 0
	r.Interrupts = w.termios.Lflag&(unix.ISIG|unix.NOFLSH) == unix.ISIG && w.termios.Cc[unix.VINTR] == 'C'-'@'
	if r.Group <= 0 {
		r.State, r.Why, r.Gone = Unknown, "no process group is in the terminal's foreground", true
		return r
	}
	w.id, w.group = p.id, r.Group
	roots := p.processRoots()
	by, running := w.findMembers(roots)
	if len(w.members) == 0 {
		r.State, r.Why, r.Gone = Unknown, fmt.Sprintf("process group %d has no process below this host", r.Group), true
		return r
	}
	var before Fingerprint
	var ok bool
	if !running {
		// The counts come first: with the same counts at the end, no thread ran
		// in between, and all that was read belongs to one moment.
		w.listThreads()
		before, ok = w.fingerprint()
		by, running = w.readThreads()
	}
	if running {
		r.State, r.PID = Busy, by.pid
		r.Why = fmt.Sprintf("%s (pid %d) runs", by.comm, by.pid)
		r.Command = CommandLine(by.pid)
		return r
	}
	w.waits = w.waits[:0]
	for i := range w.threads {
		if wt := w.classify(&w.threads[i]); wt.kind != 0 {
			w.waits = append(w.waits, wt)
		}
	}
	var one waiting
	r.State, r.Why, one, r.OnlyTimers = decide(w.waits, !r.Canonical)
	r.PID, r.Timeout = one.pid, one.timeout
	if one.kind != reads {
		r.Timeout = 0
	}
	r.Quiet = quiet(w.waits, r.OnlyTimers)
	if one.pid != 0 {
		r.Command = CommandLine(one.pid)
	}
	if r.State == Busy {
		r.Runs, r.Outside = one.kind == runs, one.kind == foreign
		return r
	}
	r.Fingerprint = before
	if r.State == Ready || r.OnlyTimers {
		p.confirm(&r, ok, one, roots)
	}
	return r
}

// Reads reports whether a process of the terminal's foreground group waits for
// the terminal, alone or among others. known is false where the kernel does not
// tell.
func (p *PTY) Reads(pid int) (waits, known bool) {
	w := &p.probe
	w.mu.Lock()
	defer w.mu.Unlock()
	group, modes, err := p.modes()
	stat, ok := readStat(pid)
	if err != nil || !ok {
		return false, false
	}
	if stat.pgrp != group {
		return false, true
	}
	w.id, w.group, w.termios = p.id, group, modes
	t := thread{proc: stat, tid: pid}
	if w.readThread(&t) {
		return false, true
	}
	switch w.classify(&t).kind {
	case reads, mixed:
		return true, true
	case hidden, 0:
		return false, false
	}
	return false, true
}

// modes returns the terminal's foreground group and modes.
func (p *PTY) modes() (group int, modes unix.Termios, err error) {
	err = p.control("probe the terminal", func(fd int) (err error) {
		if group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
			return err
		}
		t, err := getTermios(fd)
		if err == nil {
			modes = *t
		}
		return err
	})
	return group, modes, err
}

// confirm reads the terminal's queues, and then its foreground group, its modes
// and the threads once more. If a thread ran or started another since the first
// count, or the modes changed, the observations are not of one moment and the
// program is busy. Threads are counted before their context switches, so that a
// thread that starts another one in between is noticed by the latter.
func (p *PTY) confirm(r *Readiness, counted bool, by waiting, roots []int) {
	w := &p.probe
	r.InputPending, r.OutputPending = p.pending()
	before := w.census()
	_, running := w.findMembers(roots)
	grown := running || w.census() != before
	after, ok := w.fingerprint()
	group, modes, err := p.modes()
	who := fmt.Sprintf("%s (pid %d)", by.comm, by.pid)
	switch {
	case r.InputPending:
		r.State, r.Why = Busy, who+" has not read all that was typed"
	case r.OutputPending:
		r.State, r.Why = Busy, who+" waits for the terminal, but its output is not read yet"
	case !counted || !ok:
		r.State, r.Why = Unknown, "the kernel does not count when "+who+" runs"
	case grown || after != r.Fingerprint || err != nil || group != r.Group:
		r.State, r.Why = Busy, who+" ran during the probe"
	case modes != w.termios:
		r.State, r.Why = Busy, "the terminal's modes changed during the probe"
	}
	if r.State == Busy {
		r.OnlyTimers, r.Quiet, r.Timeout, r.Fingerprint = false, 0, 0, Fingerprint{}
	}
}

// Drained reports whether the program has read all input, and the host has
// read and handled all that was written before. In canonical mode an incomplete
// line is not counted.
func (p *PTY) Drained() bool {
	input, output := p.pending()
	return !input && !output
}

// OutputPending reports whether something was written to the terminal that the
// host has not read and handled.
func (p *PTY) OutputPending() bool {
	_, output := p.pending()
	return output
}

// pending reports whether the program has unread input and the host unread
// output. Polling a terminal first makes the kernel deliver what was written
// at the other end, so no byte is missed.
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
	return input, output || p.chunk.taken.Load() > 0
}

// findMembers fills walk and members. It stops at the first running member,
// which decides the result: a parallel build may have thousands.
func (w *probing) findMembers(roots []int) (by procStat, running bool) {
	w.walk.terminal(roots, func(st procStat) bool {
		if st.pgrp == w.group && (st.state == 'R' || st.state == 'D') {
			by, running = st, true
		}
		return running
	})
	w.members = w.members[:0]
	for _, st := range w.walk.found {
		if st.pgrp == w.group && st.alive() {
			w.members = append(w.members, st)
		}
	}
	return by, running
}

// census returns a hash of the group's members and their thread counts.
func (w *probing) census() uint64 {
	var sum uint64
	for _, m := range w.members {
		sum += mix(uint64(m.pid)<<20 + uint64(m.threads))
	}
	return sum
}

// listThreads fills threads with the threads of all members.
func (w *probing) listThreads() {
	w.threads = w.threads[:0]
	for i := range w.members {
		m := &w.members[i]
		w.tids = append(w.tids[:0], m.pid)
		if m.threads != 1 || m.state == 'Z' {
			w.tids = listNumbers(w.tids[:0], w.buf[:], procPath(m.pid, "task"))
		}
		for _, tid := range w.tids {
			w.threads = append(w.threads, thread{proc: *m, tid: tid})
		}
	}
}

// readThreads reads the state of each thread. It stops at the first running
// one.
func (w *probing) readThreads() (by procStat, running bool) {
	for i := range w.threads {
		if t := &w.threads[i]; w.readThread(t) {
			return t.proc, true
		}
	}
	return procStat{}, false
}

// readThread reports whether the thread runs. One that has ended gets no state.
func (w *probing) readThread(t *thread) (running bool) {
	data, err := readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "stat"))
	st, ok := parseStat(data)
	if err != nil || !ok {
		return false
	}
	switch st.state {
	case 'Z', 'X', 'x':
		return false
	case 'T', 't': // Stopped: it goes on when somebody says so.
		t.state = st.state
		return false
	case 'S', 'I':
	default:
		return true
	}
	data, err = readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "syscall"))
	if err == unix.ESRCH || err == unix.ENOENT && !threadLives(t.proc.pid, t.tid) {
		return false
	}
	t.state, ok = st.state, false
	if err == nil {
		t.call, ok = parseSyscall(data)
		if !ok {
			err = fmt.Errorf("its system call reads %q", data)
		}
	}
	t.err = err
	return ok && (t.call.running || t.call.outside)
}

func threadLives(pid, tid int) bool {
	var st unix.Stat_t
	return unix.Stat(taskPath(pid, tid, ""), &st) == nil
}

// fingerprint returns a hash of how often each thread was scheduled.
func (w *probing) fingerprint() (Fingerprint, bool) {
	f := Fingerprint{Group: w.group, Threads: len(w.threads)}
	for _, t := range w.threads {
		data, err := readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "schedstat"))
		ran, switches, ok := parseSchedstat(data)
		if err != nil || !ok {
			data, err = readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "status"))
			if switches, ok = parseSwitches(data); (err != nil || !ok) && threadLives(t.proc.pid, t.tid) {
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

// readTimeout returns how long a read of the terminal blocks at most: in raw
// mode a program may have set VTIME.
func (w *probing) readTimeout() time.Duration {
	if w.termios.Lflag&unix.ICANON != 0 || w.termios.Cc[unix.VMIN] > 0 {
		return 0
	}
	return time.Duration(w.termios.Cc[unix.VTIME]) * 100 * time.Millisecond
}
