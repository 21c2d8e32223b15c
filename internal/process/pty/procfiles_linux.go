//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

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
