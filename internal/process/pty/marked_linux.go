package pty

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

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
