package pty

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

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

// HasEnv reports whether a process was started with the variable key. It
// returns false if the environment cannot be read.
func HasEnv(pid int, key string) bool {
	_, ok := Env(pid, key)
	return ok
}

// Env returns the variable's value in the environment that a process was
// started with.
func Env(pid int, key string) (value string, ok bool) {
	for entry := range strings.SplitSeq(string(Environ(pid)), "\x00") {
		if value, ok := strings.CutPrefix(entry, key+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Arguments returns the argv of a process.
func Arguments(pid int) []string { return strings.Split(procFile(pid, "cmdline"), "\x00") }

// procFile returns the content of a file in /proc/PID, or "" if it cannot be
// read.
func procFile(pid int, file string) string {
	raw, err := os.ReadFile(procPath(pid, file))
	if err != nil {
		return ""
	}
	return string(raw)
}

// Flags of a process in its stat file: it exits, it is a thread of the kernel.
const (
	flagExiting = 0x4
	flagKernel  = 0x200000
)

// executeLimit bounds the wait for a process that executes another program.
// Only one that is stuck in the kernel takes longer.
const executeLimit = time.Second

// Environ returns the environment that a process was started with, as the
// kernel shows it: empty if there is none or it may not be read. A process
// that executes another program seems to have none for a moment; Environ waits
// for that moment to pass, because whoever looks for marks would miss the
// process.
func Environ(pid int) []byte {
	for end := (time.Time{}); ; time.Sleep(100 * time.Microsecond) {
		environ, err := os.ReadFile(procPath(pid, "environ"))
		if err != nil || len(environ) > 0 || !runsProgram(pid) || hasNoEnviron(pid) {
			return environ
		}
		if end.IsZero() {
			end = time.Now().Add(executeLimit)
		} else if time.Now().After(end) {
			return nil
		}
	}
}

// runsProgram reports whether a process lives and is none of the kernel's own.
func runsProgram(pid int) bool {
	ps, ok := readStat(pid)
	return ok && ps.alive() && ps.flags&(flagExiting|flagKernel) == 0
}

// hasNoEnviron reports whether the program that a process executes was given
// no environment: it ends where it begins. While a program is being loaded that
// is so for a moment with any; the place of its code is the last that the
// kernel fills in.
func hasNoEnviron(pid int) bool {
	var buf [1024]byte
	data, err := readInto(buf[:], procPath(pid, "stat"))
	if err != nil {
		return false
	}
	f := fields{rest: data[bytes.LastIndexByte(data, ')')+1:]}
	var code, start, end []byte
	for i := 3; i <= 51; i++ { // Numbered as in proc(5).
		word := f.next()
		switch i {
		case 26:
			code = word
		case 50:
			start = word
		case 51:
			end = word
		}
	}
	return len(code) > 1 && bytes.Equal(start, end)
}

// Marked lists the live processes of this user, other than this one, that were
// started with the environment entry env ("KEY=VALUE"): the processes that a
// killed host left behind.
//
// Reading every environment is slow if there are many processes, and callers
// that end many sessions ask for each. Callers that arrive during a scan share
// the next one.
func Marked(env string) []int {
	if key, _, ok := strings.Cut(env, "="); !ok || key == "" {
		return nil
	}
	return marks.find(env)
}

var marks markScanner

// markScanner joins questions for marks.
type markScanner struct {
	scanning sync.Mutex // held during a scan

	mu   sync.Mutex // guards the field below
	next *markScan  // the scan that has not begun, or nil
}

// markScan is one scan for several marks.
type markScan struct {
	once  sync.Once
	found map[string][]int // by mark; all that are asked for are in it before the scan begins
}

func (s *markScanner) find(env string) []int {
	s.mu.Lock()
	if s.next == nil {
		s.next = &markScan{found: map[string][]int{}}
	}
	scan := s.next
	scan.found[env] = nil
	s.mu.Unlock()
	scan.once.Do(func() {
		s.scanning.Lock()
		defer s.scanning.Unlock()
		s.mu.Lock()
		s.next = nil // who comes from here on needs a younger scan
		s.mu.Unlock()
		scan.run()
	})
	return scan.found[env]
}

func (m *markScan) run() {
	self, uid := os.Getpid(), uint32(os.Geteuid())
	for _, pid := range allPIDs() {
		var st unix.Stat_t
		dir := procPath(pid, "")
		if pid == self || unix.Stat(dir, &st) != nil || st.Uid != uid {
			continue
		}
		if environ := Environ(pid); len(environ) > 0 {
			m.note(pid, string(environ))
		}
	}
}

// note adds a process to each requested mark in its environment.
func (m *markScan) note(pid int, environ string) {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if _, asked := m.found[entry]; !asked {
			continue
		}
		if ps, ok := readStat(pid); ok && ps.alive() && !endsWith(m.found[entry], pid) {
			m.found[entry] = append(m.found[entry], pid)
		}
	}
}

// endsWith reports whether pid was added last: an environment may contain an
// entry twice.
func endsWith(pids []int, pid int) bool { return len(pids) > 0 && pids[len(pids)-1] == pid }
