//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds on what is read from a program's memory. Beyond them the answer is hidden.
const (
	maxSelect = 1 << 16 // descriptors
	maxPoll   = 1 << 12
)

// classify returns what one thread waits for. A kind of 0 means that the
// thread does not count.
func (w *probing) classify(t *thread) waiting {
	wt := waiting{pid: t.proc.pid, comm: t.proc.comm}
	switch {
	case t.state == 0:
		return waiting{}
	case t.state == 'T' || t.state == 't':
		wt.kind, wt.what = parked, "a signal to continue"
		return wt
	case t.err != nil:
		wt.kind, wt.what = hidden, t.err.Error()
		return wt
	case t.call.sp < 1<<32:
		// The number would be another call's, and no 64-bit stack is there.
		wt.kind, wt.what = hidden, "it is a 32-bit program"
		return wt
	}
	info, ok := calls.Get()[t.call.number]
	if !ok {
		if info, ok = archCalls.Get()[t.call.number]; !ok {
			info.name = "system call " + strconv.FormatInt(t.call.number, 10)
		}
	}
	if info.kind == callRestart {
		info = w.restarted(t)
	}
	wt.call = info.name
	w.classifyCall(&wt, t, info.kind)
	return wt
}

func (w *probing) classifyCall(wt *waiting, t *thread, kind callKind) {
	a := &t.call.args
	var set waitSet
	switch kind {
	case callRead:
		w.add(&set, t, int(int32(a[0])), false)
		wt.timeout = w.readTimeout()
	case callWrite:
		w.classifyWrite(wt, t, int(int32(a[0])))
		return
	case callSelect:
		w.addSelect(&set, t)
		wt.timeout = w.timespec(&set, t, a[4])
	case callPoll:
		w.addPoll(&set, t)
		wt.timeout = milliseconds(a[2])
	case callPpoll:
		w.addPoll(&set, t)
		wt.timeout = w.timespec(&set, t, a[2])
	case callEpoll:
		w.addEpoll(&set, t, int(int32(a[0])), 0)
		wt.timeout = milliseconds(a[3])
	case callEpoll2:
		w.addEpoll(&set, t, int(int32(a[0])), 0)
		wt.timeout = w.timespec(&set, t, a[3])
	case callFutex:
		w.classifyFutex(wt, t)
		return
	case callChild:
		w.classifyChild(wt, t)
		return
	case callSignal:
		wt.kind = parked
		return
	case callSignalTime:
		wt.kind = parked
		if a[2] != 0 {
			wt.kind = timed
		}
		return
	case callSleep:
		wt.kind = timed
		return
	case callRing, callRestart:
		wt.kind, wt.what = hidden, "it waits in "+wt.call+", which does not say for what"
		return
	default:
		wt.kind = foreign
		return
	}
	set.sum(wt)
}

// waitSet collects what one system call waits for.
type waitSet struct {
	terminal, own, sibling int           // how many descriptors of each
	outside                string        // the first that is none of these, or ""
	timer                  time.Duration // of an armed timer among its own, or 0
	unread                 string        // why the set is not known, or ""
}

// sum sets the result for the thread.
func (s *waitSet) sum(wt *waiting) {
	if s.timer > 0 && (wt.timeout == 0 || s.timer < wt.timeout) {
		wt.timeout = s.timer
	}
	switch {
	case s.unread != "":
		wt.kind, wt.what = hidden, s.unread
	case s.terminal > 0 && s.outside != "":
		wt.kind, wt.what = mixed, s.outside
	case s.terminal > 0 && s.sibling > 0:
		wt.kind, wt.what = mixed, "another process of its group"
	case s.terminal > 0:
		wt.kind, wt.loop = reads, s.own > 0
	case s.outside != "":
		wt.kind, wt.what = foreign, s.outside
	case wt.timeout > 0:
		wt.kind = timed
	default:
		wt.kind = parked
	}
}

func (s *waitSet) unreadable(err error, what string) {
	if s.unread == "" {
		s.unread = fmt.Sprintf("%s: %v", what, err)
	}
}

func (w *probing) addSelect(set *waitSet, t *thread) {
	n := int(int32(t.call.args[0]))
	if n < 0 || n > maxSelect {
		set.unreadable(unix.ERANGE, fmt.Sprintf("select of %d descriptors", n))
		return
	}
	for i, writing := range []bool{false, true, false} {
		addr := t.call.args[1+i]
		if addr == 0 || n == 0 {
			continue
		}
		bits := make([]byte, (n+63)/64*8)
		if err := readMemory(t, addr, bits); err != nil {
			set.unreadable(err, "the descriptors of its select")
			return
		}
		for fd := range n {
			if bits[fd/8]>>(fd%8)&1 != 0 {
				w.add(set, t, fd, writing)
			}
		}
	}
}

func (w *probing) addPoll(set *waitSet, t *thread) {
	n := t.call.args[1]
	if n > maxPoll {
		set.unreadable(unix.ERANGE, fmt.Sprintf("poll of %d descriptors", n))
		return
	}
	if n == 0 {
		return
	}
	mem := make([]byte, n*8)
	if err := readMemory(t, t.call.args[0], mem); err != nil {
		set.unreadable(err, "the descriptors of its poll")
		return
	}
	for ; len(mem) > 0; mem = mem[8:] {
		fd := int(int32(binary.LittleEndian.Uint32(mem)))
		events := binary.LittleEndian.Uint16(mem[4:])
		if fd >= 0 {
			w.add(set, t, fd, events&unix.POLLOUT != 0)
		}
	}
}

// epollPrivate are the event bits that say how to report, not what.
const epollPrivate = uint32(unix.EPOLLET&0xffffffff | unix.EPOLLONESHOT | unix.EPOLLWAKEUP | unix.EPOLLEXCLUSIVE)

func (w *probing) addEpoll(set *waitSet, t *thread, epfd, depth int) {
	if depth > 3 {
		set.unreadable(unix.ELOOP, "an epoll set within epoll sets")
		return
	}
	buf := make([]byte, 64<<10)
	data, err := readInto(buf, procFD(t.proc.pid, "fdinfo", epfd))
	if err == nil && len(data) == len(buf) {
		err = unix.E2BIG
	}
	if err != nil {
		set.unreadable(err, "its epoll set")
		return
	}
	for _, e := range parseEpoll(data) {
		if e.events&unix.EPOLLONESHOT != 0 && e.events&^epollPrivate == 0 {
			continue // It reported once and is off until it is armed again.
		}
		var st unix.Stat_t
		if err := unix.Stat(procFD(t.proc.pid, "fd", e.fd), &st); err != nil || e.ino != 0 && st.Ino != e.ino {
			// Its number was closed, or is another file's by now, but it is watched on.
			set.unreadable(unix.EBADF, "a descriptor in its epoll set")
			return
		}
		if kind, _ := w.link(t, e.fd); kind == "anon_inode:[eventpoll]" {
			w.addEpoll(set, t, e.fd, depth+1)
			continue
		}
		// An edge that has passed is not waited for again: Go's runtime asks
		// for both directions of everything.
		edge := e.events&(unix.EPOLLET&0xffffffff) != 0
		w.add(set, t, e.fd, e.events&unix.EPOLLOUT != 0 && !edge)
	}
}

func (w *probing) timespec(set *waitSet, t *thread, addr uint64) time.Duration {
	if addr == 0 {
		return 0
	}
	// A timeval has the same layout, with microseconds in its second half.
	var mem [16]byte
	if err := readMemory(t, addr, mem[:]); err != nil {
		set.unreadable(err, "the time limit of its wait")
		return 0
	}
	sec, sub := binary.LittleEndian.Uint64(mem[:]), binary.LittleEndian.Uint64(mem[8:])
	if info, ok := archCalls.Get()[t.call.number]; ok && info.kind == callSelect {
		sub *= 1000
	}
	return max(time.Duration(min(sec, 200*year))*time.Second+time.Duration(min(sub, 1e9)), time.Nanosecond)
}

func milliseconds(arg uint64) time.Duration {
	ms := int32(arg)
	if ms < 0 {
		return 0
	}
	return max(time.Duration(ms)*time.Millisecond, time.Nanosecond)
}

// housekeeping is the timeout from which a thread that waits for another
// counts as waiting for that one only: runtimes keep such threads (Go's
// monitor wakes once a minute), and a command seldom pauses this way.
const housekeeping = 20 * time.Second

func (w *probing) classifyFutex(wt *waiting, t *thread) {
	wt.kind = parked
	if t.call.args[3] == 0 {
		return
	}
	var set waitSet
	left := w.timespec(&set, t, t.call.args[3])
	const relative, command, realtime = 0, 0x7f, 0x100
	if op := t.call.args[1]; op&command != relative {
		clock := int32(unix.CLOCK_MONOTONIC)
		if op&realtime != 0 {
			clock = unix.CLOCK_REALTIME
		}
		var now unix.Timespec
		if err := unix.ClockGettime(clock, &now); err != nil {
			set.unreadable(err, "the clock")
		}
		left -= time.Duration(now.Nano())
	}
	if set.unread != "" {
		wt.kind, wt.what = hidden, set.unread
	} else if left < housekeeping {
		wt.kind = timed
	}
}

// classifyChild classifies a thread that waits for a child. If the child is in
// the group, the child's own state decides. Otherwise the thread continues
// when the child exits.
func (w *probing) classifyChild(wt *waiting, t *thread) {
	wt.kind, wt.what = parked, "its child"
	for _, p := range w.walk.found {
		if p.ppid == t.proc.pid && p.alive() && p.pgrp != w.group {
			wt.kind, wt.what = foreign, fmt.Sprintf("its child %s (pid %d) in another process group", p.comm, p.pid)
			return
		}
	}
}

// classifyWrite classifies a thread that writes. A full pipe to another
// process of the group drains when that one reads.
func (w *probing) classifyWrite(wt *waiting, t *thread, fd int) {
	link, err := w.link(t, fd)
	switch {
	case err != nil:
		wt.kind, wt.what = hidden, err.Error()
	case w.isTerminal(t, fd, link):
		wt.kind, wt.what = runs, "writes to the terminal"
	case strings.HasPrefix(link, "pipe:["):
		wt.kind, wt.what = foreign, link
		if ends := w.pipeEnds(t.proc.pid, link, false); ends.members > 0 && ends.others == 0 {
			wt.kind = parked
		}
	default:
		wt.kind, wt.what = foreign, link
	}
}

// restarted determines which system call is resumed after a stop and a
// continue. The kernel reports only restart_syscall, but also the kernel
// function that the thread sleeps in. The arguments are still those of the
// original call.
func (w *probing) restarted(t *thread) callInfo {
	data, err := readInto(w.buf[:], taskPath(t.proc.pid, t.tid, "wchan"))
	if err != nil {
		return callInfo{callRestart, "restart_syscall"}
	}
	switch where := string(data); {
	case strings.Contains(where, "poll"):
		return callInfo{callPoll, "poll"}
	case strings.Contains(where, "nanosleep"):
		return callInfo{callSleep, "nanosleep"}
	case strings.Contains(where, "futex"):
		return callInfo{callFutex, "futex"}
	}
	return callInfo{callRestart, "restart_syscall"}
}

// readMemory fills buf from a program's memory.
func readMemory(t *thread, addr uint64, buf []byte) error {
	fd, err := unix.Open(procPath(t.proc.pid, "mem"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Pread(fd, buf, int64(addr))
	if err == nil && n < len(buf) {
		err = unix.EFAULT
	}
	return err
}
