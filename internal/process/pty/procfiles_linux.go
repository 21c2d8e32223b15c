//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"den/internal/base/lazy"

	"golang.org/x/sys/unix"
)

// syscallLine is a parsed /proc/PID/task/TID/syscall.
type syscallLine struct {
	running bool // on a processor or about to be: nothing else is known
	outside bool // blocked, but not in a system call
	number  int64
	args    [6]uint64
	sp      uint64
}

// parseSyscall reads "running", "-1 SP PC" or "NUMBER ARG0 … ARG5 SP PC".
func parseSyscall(line []byte) (syscallLine, bool) {
	f := fields{rest: line}
	word := f.next()
	if string(word) == "running" {
		return syscallLine{running: true}, true
	}
	var s syscallLine
	n, err := strconv.ParseInt(string(word), 10, 64)
	if err != nil {
		return s, false
	}
	s.number = n
	if n == -1 {
		s.outside = true
		return s, true
	}
	for i := range s.args {
		if s.args[i], err = parseHex(f.next()); err != nil {
			return syscallLine{}, false
		}
	}
	s.sp, err = parseHex(f.next())
	return s, err == nil
}

func parseHex(word []byte) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(string(word), "0x"), 16, 64)
}

// year, in seconds, bounds the value of a timer; longer ones never expire.
const year = 365 * 24 * 3600

// epollEntry is one descriptor in an epoll set. fd is its number when it was
// added; ino tells whether that is still the same file.
type epollEntry struct {
	fd     int
	events uint32
	ino    uint64
}

// parseEpoll reads the "tfd:" lines of an epoll set's fdinfo.
func parseEpoll(fdinfo []byte) []epollEntry {
	var out []epollEntry
	for line := range bytes.Lines(fdinfo) {
		f := fields{rest: line}
		if string(f.next()) != "tfd:" {
			continue
		}
		fd, ok := atoi(f.next())
		f.next() // "events:"
		events, err := strconv.ParseUint(string(f.next()), 16, 32)
		if !ok || err != nil {
			continue
		}
		e := epollEntry{fd: fd, events: uint32(events)}
		for word := f.next(); len(word) > 0; word = f.next() {
			if v, ok := bytes.CutPrefix(word, []byte("ino:")); ok {
				e.ino, _ = strconv.ParseUint(string(v), 16, 64)
			}
		}
		out = append(out, e)
	}
	return out
}

// timerLeft returns when a timerfd expires, from its fdinfo; 0 means never.
func timerLeft(fdinfo []byte) time.Duration {
	_, rest, ok := bytes.Cut(fdinfo, []byte("it_value: ("))
	line, _, _ := bytes.Cut(rest, []byte(")"))
	s, ns, ok2 := bytes.Cut(line, []byte(", "))
	sec, ok3 := atoi(s)
	nsec, ok4 := atoi(ns)
	if !ok || !ok2 || !ok3 || !ok4 {
		return time.Nanosecond // Not known to be off.
	}
	return time.Duration(min(sec, year))*time.Second + time.Duration(nsec)
}

// accessMode returns whether a descriptor is open for reading and for writing,
// from its fdinfo.
func accessMode(fdinfo []byte) (read, write bool) {
	_, rest, ok := bytes.Cut(fdinfo, []byte("flags:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 32)
	if !ok || err != nil {
		return false, false
	}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		return true, false
	case unix.O_WRONLY:
		return false, true
	}
	return true, true
}

// parseSchedstat returns how long a thread ran, in nanoseconds, and how often
// it was scheduled.
func parseSchedstat(line []byte) (ran, switches uint64, ok bool) {
	f := fields{rest: line}
	ran, err1 := strconv.ParseUint(string(f.next()), 10, 64)
	f.next()
	switches, err2 := strconv.ParseUint(string(f.next()), 10, 64)
	return ran, switches, err1 == nil && err2 == nil && switches > 0
}

// parseSwitches returns how often a thread was scheduled, from its status
// file, for kernels without schedstat.
func parseSwitches(status []byte) (uint64, bool) {
	var sum uint64
	found := false
	for line := range bytes.Lines(status) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.HasSuffix(key, []byte("voluntary_ctxt_switches")) {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil || n > math.MaxUint32<<16 {
			return 0, false
		}
		sum += n
		found = true
	}
	return sum, found
}

func procFD(pid int, dir string, fd int) string {
	return procPath(pid, dir) + "/" + strconv.Itoa(fd)
}

// link returns the target of a thread's descriptor in /proc.
func (w *probing) link(t *thread, fd int) (string, error) {
	return readLink(procFD(t.proc.pid, "fd", fd))
}

func readLink(path string) (string, error) {
	var buf [256]byte
	n, err := unix.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// add adds one descriptor to the set. writing is set if the thread waits until
// it can write, which always depends on others.
func (w *probing) add(set *waitSet, t *thread, fd int, writing bool) {
	link, err := w.link(t, fd)
	if err != nil {
		set.unreadable(err, "descriptor "+strconv.Itoa(fd))
		return
	}
	if writing {
		set.foreign("a write to " + link)
		return
	}
	switch {
	case w.isTerminal(t, fd, link):
		set.terminal++
	case link == "anon_inode:[eventfd]", link == "anon_inode:[signalfd]":
		set.own++
	case link == "anon_inode:[timerfd]":
		set.own++
		data, err := readInto(w.buf[:], procFD(t.proc.pid, "fdinfo", fd))
		if err != nil {
			set.unreadable(err, "its timer")
		}
		if left := timerLeft(data); left > 0 && (set.timer == 0 || left < set.timer) {
			set.timer = left
		}
	case strings.HasPrefix(link, "pipe:["):
		switch ends := w.pipeEnds(t.proc.pid, link, true); {
		case ends.others > 0:
			set.foreign(link)
		case ends.members > 0:
			set.sibling++
		case ends.own > 0:
			set.own++
		default:
			set.foreign(link)
		}
	case strings.HasPrefix(link, "socket:["):
		if w.ownSocket(t.proc.pid, link) {
			set.own++
			return
		}
		set.foreign(link)
	default:
		set.foreign(link)
	}
}

func (s *waitSet) foreign(what string) {
	if s.outside == "" {
		s.outside = what
	}
}

// isTerminal reports whether a descriptor is this terminal: by device number,
// because paths differ between mounts, or as the controlling terminal.
func (w *probing) isTerminal(t *thread, fd int, link string) bool {
	if !strings.HasPrefix(link, "/") {
		return false
	}
	var st unix.Stat_t
	if unix.Stat(procFD(t.proc.pid, "fd", fd), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	if uint64(st.Dev) == w.id.dev && st.Ino == w.id.ino {
		return true
	}
	return uint64(st.Rdev) == unix.Mkdev(5, 0) && t.proc.tty == uint32(w.id.rdev)
}

// pipeHolders counts the processes that hold the other end of a pipe.
type pipeHolders struct{ own, members, others int }

// pipeEnds counts the processes below the roots that hold the writing or the
// reading end of a pipe. Pipes are inherited, so all holders of one that was
// created on this terminal are there.
func (w *probing) pipeEnds(pid int, link string, writing bool) pipeHolders {
	var h pipeHolders
	for i := range w.walk.found {
		p := &w.walk.found[i]
		if !p.alive() || !holds(p.pid, link, writing) {
			continue
		}
		switch {
		case p.pid == pid:
			h.own++
		case p.pgrp == w.group:
			h.members++
		default:
			h.others++
		}
	}
	return h
}

// holds reports whether a process has the given end of a pipe open.
func holds(pid int, link string, writing bool) bool {
	found := false
	eachFD(pid, func(fd int) bool {
		if l, err := readLink(procFD(pid, "fd", fd)); err != nil || l != link {
			return true
		}
		var buf [512]byte
		data, err := readInto(buf[:], procFD(pid, "fdinfo", fd))
		r, wr := accessMode(data)
		found = err != nil || writing && wr || !writing && r
		return !found
	})
	return found
}

// eachFD calls f for every descriptor of a process until f returns false.
func eachFD(pid int, f func(fd int) bool) {
	var buf [2048]byte
	for _, fd := range listNumbers(nil, buf[:], procPath(pid, "fd")) {
		if !f(fd) {
			return
		}
	}
}

// ownSocket reports whether a socket's peer belongs to the same process and no
// other process below the roots has it. Event loops use such pairs to wake
// themselves.
func (w *probing) ownSocket(pid int, link string) bool {
	ino, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"), 10, 32)
	if err != nil {
		return false
	}
	peer, ok := unixPeer(uint32(ino))
	if !ok {
		return false
	}
	peerLink := "socket:[" + strconv.FormatUint(uint64(peer), 10) + "]"
	own := false
	for i := range w.walk.found {
		p := &w.walk.found[i]
		if !p.alive() {
			continue
		}
		has := false
		eachFD(p.pid, func(fd int) bool {
			l, _ := readLink(procFD(p.pid, "fd", fd))
			has = l == peerLink
			return !has
		})
		if has && p.pid != pid {
			return false
		}
		own = own || has
	}
	return own
}

// The parts of linux/unix_diag.h that are needed here.
const (
	sockDiagByFamily = 20
	udiagShowPeer    = 4
	unixDiagPeer     = 2
)

// unixPeer returns the inode of the socket that a Unix socket is connected to.
// It returns false if there is none or the kernel does not say.
func unixPeer(ino uint32) (peer uint32, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	// struct nlmsghdr, then struct unix_diag_req.
	var req [16 + 24]byte
	le := binary.LittleEndian
	le.PutUint32(req[0:], uint32(len(req)))
	le.PutUint16(req[4:], sockDiagByFamily)
	le.PutUint16(req[6:], unix.NLM_F_REQUEST)
	req[16] = unix.AF_UNIX
	le.PutUint32(req[20:], ^uint32(0)) // any state
	le.PutUint32(req[24:], ino)
	le.PutUint32(req[28:], udiagShowPeer)
	le.PutUint64(req[32:], ^uint64(0)) // no cookie
	if err := unix.Sendto(fd, req[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false
	}
	// The reply to a query about one socket is available when the send
	// returns.
	var buf [1024]byte
	n, _, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return 0, false
	}
	return parsePeer(buf[:n], ino)
}

// parsePeer reads one netlink message with a struct unix_diag_msg and its attributes.
func parsePeer(msg []byte, ino uint32) (peer uint32, ok bool) {
	le := binary.LittleEndian
	if len(msg) < 16+16 || le.Uint16(msg[4:]) != sockDiagByFamily || le.Uint32(msg[16+4:]) != ino {
		return 0, false
	}
	for attrs := msg[32:]; len(attrs) >= 4; {
		size, kind := int(le.Uint16(attrs)), le.Uint16(attrs[2:])
		if size < 4 || size > len(attrs) {
			return 0, false
		}
		if kind == unixDiagPeer && size >= 8 {
			return le.Uint32(attrs[4:]), true
		}
		attrs = attrs[min((size+3)&^3, len(attrs)):]
	}
	return 0, false
}

// A callKind groups the system calls in which a thread can wait.
type callKind int

const (
	callRead       callKind = iota + 1 // fd in the first argument
	callWrite                          // fd in the first argument
	callSelect                         // nfds, read, write, except, *timespec or *timeval
	callPoll                           // *pollfd, n, milliseconds
	callPpoll                          // *pollfd, n, *timespec
	callEpoll                          // epfd, events, n, milliseconds
	callEpoll2                         // epfd, events, n, *timespec
	callFutex                          // *word, op, value, *timespec
	callChild                          // waits for a child
	callSignal                         // waits for a signal
	callSignalTime                     // set, info, *timespec
	callSleep                          // waits for time to pass
	callRestart                        // an interrupted call goes on; which one is not said
	callRing                           // io_uring: what it waits for is not said
)

type callInfo struct {
	kind callKind
	name string
}

type callTable map[int64]callInfo

// calls has the system calls of all processors; archCalls adds those that only
// older ones have.
var calls = lazy.Value[callTable]{Make: func() callTable {
	return callTable{
		unix.SYS_READ:            {callRead, "read"},
		unix.SYS_READV:           {callRead, "readv"},
		unix.SYS_WRITE:           {callWrite, "write"},
		unix.SYS_WRITEV:          {callWrite, "writev"},
		unix.SYS_PSELECT6:        {callSelect, "pselect6"},
		unix.SYS_PPOLL:           {callPpoll, "ppoll"},
		unix.SYS_EPOLL_PWAIT:     {callEpoll, "epoll_pwait"},
		unix.SYS_EPOLL_PWAIT2:    {callEpoll2, "epoll_pwait2"},
		unix.SYS_FUTEX:           {callFutex, "futex"},
		unix.SYS_WAIT4:           {callChild, "wait4"},
		unix.SYS_WAITID:          {callChild, "waitid"},
		unix.SYS_RT_SIGSUSPEND:   {callSignal, "rt_sigsuspend"},
		unix.SYS_RT_SIGTIMEDWAIT: {callSignalTime, "rt_sigtimedwait"},
		unix.SYS_NANOSLEEP:       {callSleep, "nanosleep"},
		unix.SYS_CLOCK_NANOSLEEP: {callSleep, "clock_nanosleep"},
		unix.SYS_RESTART_SYSCALL: {callRestart, "restart_syscall"},
		unix.SYS_IO_URING_ENTER:  {callRing, "io_uring_enter"},
		unix.SYS_RECVFROM:        {0, "recvfrom"},
		unix.SYS_RECVMSG:         {0, "recvmsg"},
		unix.SYS_ACCEPT4:         {0, "accept4"},
		unix.SYS_CONNECT:         {0, "connect"},
		unix.SYS_FLOCK:           {0, "flock"},
		unix.SYS_FCNTL:           {0, "fcntl"},
		unix.SYS_IOCTL:           {0, "ioctl"},
	}
}}
