package pty

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"
)

// procStat is a parsed /proc/PID/stat.
type procStat struct {
	pid, ppid, pgrp, session int
	state                    byte
	threads                  int
	started                  int    // ticks after the system's start
	tty                      uint32 // the controlling terminal's device number
	comm                     string
	flags                    int // as the kernel keeps them: see runsProgram
}

// alive reports whether a process is not a zombie. A zombie that has threads
// is alive: only its first thread has ended.
func (p procStat) alive() bool {
	return p.state != 'X' && p.state != 'x' && (p.state != 'Z' || p.threads > 1)
}

func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

func taskPath(pid, tid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/" + file
}

func readStat(pid int) (procStat, bool) {
	var buf [1024]byte
	data, err := readInto(buf[:], procPath(pid, "stat"))
	if err != nil {
		return procStat{}, false
	}
	return parseStat(data)
}

// parseStat parses a stat line: PID (COMM) STATE PPID PGRP SESSION and so on.
// COMM may contain spaces and parentheses, so the last parenthesis counts.
func parseStat(line []byte) (procStat, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return procStat{}, false
	}
	st := procStat{comm: string(line[open+1 : end])}
	var ok bool
	if st.pid, ok = atoi(bytes.TrimSpace(line[:open])); !ok {
		return procStat{}, false
	}
	f := fields{rest: line[end+1:]}
	state := f.next()
	if len(state) != 1 {
		return procStat{}, false
	}
	st.state = state[0]
	for i := 4; i <= 22; i++ { // Numbered as in proc(5).
		n, ok := atoi(f.next())
		if !ok {
			return procStat{}, false
		}
		switch i {
		case 4:
			st.ppid = n
		case 5:
			st.pgrp = n
		case 6:
			st.session = n
		case 7:
			st.tty = uint32(n)
		case 9:
			st.flags = n
		case 20:
			st.threads = n
		case 22:
			st.started = n
		}
	}
	return st, true
}

// fields iterates over the words of a line without allocating.
type fields struct{ rest []byte }

func (f *fields) next() []byte {
	f.rest = bytes.TrimLeft(f.rest, " \t\n")
	end := bytes.IndexAny(f.rest, " \t\n")
	if end < 0 {
		end = len(f.rest)
	}
	word := f.rest[:end]
	f.rest = f.rest[end:]
	return word
}

// atoi is strconv.Atoi for bytes: decimal, with an optional minus.
func atoi(b []byte) (int, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		// Longer ones exist (limits of 2^64-1); no field den reads has them.
		return 0, len(b) > 18
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// readInto reads a small file of /proc without allocating for its content.
func readInto(buf []byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		n += m
		if m < 1024 {
			break // The kernel hands out these files by the page; less than that is the end.
		}
	}
	return buf[:n], nil
}

// listNumbers appends the entries of a directory that are numbers: processes,
// threads, descriptors.
func listNumbers(to []int, buf []byte, dir string) []int {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return to
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return to
		}
		// struct linux_dirent64: inode, offset, length at 16, type, name at 19.
		for b := buf[:n]; len(b) > 19; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size < 19 || size > len(b) {
				return to
			}
			name, _, _ := bytes.Cut(b[19:size], []byte{0})
			if k, ok := atoi(name); ok {
				to = append(to, k)
			}
			b = b[size:]
		}
	}
}
