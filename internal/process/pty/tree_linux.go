package pty

import (
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Descendants lists the live processes below root by parent links, nearest
// first. Zombies and root itself are not listed. An orphan is below the
// process that adopted it.
func Descendants(root int) []int {
	found := Processes(root)
	out := make([]int, len(found))
	for i, p := range found {
		out[i] = p.PID
	}
	return out
}

// Processes is Descendants with start times, which distinguish a process from
// a later one with the same PID.
func Processes(root int) []Process {
	var w treeWalk
	w.reset()
	w.walk(root, nil)
	out := make([]Process, 0, len(w.found))
	for _, p := range w.found {
		if p.alive() {
			out = append(out, Process{p.pid, p.started})
		}
	}
	return out
}

// Lookup returns the live process with this PID.
func Lookup(pid int) (Process, bool) {
	st, ok := readStat(pid)
	return Process{pid, st.started}, ok && st.alive()
}

// Ticks returns the present in the unit of Process.Started.
func Ticks() int {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err) // the kernel knows this clock since 2.6.39
	}
	return int(time.Duration(now.Nano()) / (time.Second / ticksPerSecond))
}

// ticksPerSecond is the kernel's USER_HZ, which is the same on all machines that
// den is built for.
const ticksPerSecond = 100

// treeWalk collects processes by parent links. It may be used again after reset.
type treeWalk struct {
	found []procStat
	queue []int
	kids  []int
	tids  []int
	seen  map[int]bool
	scan  map[int][]int // parent to children, where the kernel has no children files
	brief bool          // see terminal
	buf   [8192]byte
}

func (w *treeWalk) reset() {
	w.found, w.scan, w.brief = w.found[:0], nil, false
	if w.seen == nil {
		w.seen = make(map[int]bool)
	}
	clear(w.seen)
}

// add adds one process.
func (w *treeWalk) add(pid int) {
	if w.seen[pid] {
		return
	}
	w.seen[pid] = true
	data, err := readInto(w.buf[:], procPath(pid, "stat"))
	if err != nil {
		return
	}
	if st, ok := parseStat(data); ok {
		w.found = append(w.found, st)
		w.queue = append(w.queue, pid)
	}
}

// walk adds the processes below root that were not added before, nearest
// first, until enough returns true.
func (w *treeWalk) walk(root int, enough func(procStat) bool) {
	w.queue = append(w.queue[:0], root)
	w.seen[root] = true
	for next := 0; next < len(w.queue); next++ {
		w.kids = w.children(w.queue[next], w.kids[:0])
		for _, kid := range w.kids {
			n := len(w.found)
			w.add(kid)
			if len(w.found) == n {
				continue
			}
			if !w.seen[w.found[n].ppid] {
				// The child ended after it was listed, and its number is another's now.
				w.found, w.queue = w.found[:n], w.queue[:len(w.queue)-1]
				continue
			}
			if enough != nil && enough(w.found[n]) {
				return
			}
		}
	}
}

// terminal adds the processes below the roots of a terminal, and the roots but
// for this process, until enough returns true.
//
// It does not read what tells nothing. Beside a terminal's own program, this
// process is the root of orphans only: the kernel gives these to the first
// thread. And a process that was seen to have one thread has no other's children,
// unless it has run meanwhile, which is for the caller to notice.
func (w *treeWalk) terminal(roots []int, enough func(procStat) bool) {
	w.reset()
	w.brief = len(roots) > 1
	done := false
	until := func(st procStat) bool {
		done = enough != nil && enough(st)
		return done
	}
	self := os.Getpid()
	for _, root := range roots {
		if root != self && !done {
			w.add(root)
		}
		if !done {
			w.walk(root, until)
		}
	}
}

// children appends the children of all threads of pid.
func (w *treeWalk) children(pid int, to []int) []int {
	if w.scan == nil {
		if kids, ok := w.childrenFiles(pid, to); ok {
			return kids
		}
		w.scan = parentLinks()
	}
	return append(to, w.scan[pid]...)
}

// childrenFiles reads /proc/PID/task/*/children. It returns false if the
// kernel does not support that.
func (w *treeWalk) childrenFiles(pid int, to []int) ([]int, bool) {
	if w.tids = append(w.tids[:0], pid); !w.brief || !w.inFirstThread(pid) {
		w.tids = listNumbers(w.tids[:0], w.buf[:], procPath(pid, "task"))
	}
	for _, tid := range w.tids {
		data, err := readInto(w.buf[:], taskPath(pid, tid, "children"))
		if err != nil {
			// A kernel without these files has none for us either.
			if _, self := os.Stat("/proc/thread-self/children"); self != nil {
				return to, false
			}
			continue
		}
		if len(data) == len(w.buf) { // A thousand children and more.
			if data, err = os.ReadFile(taskPath(pid, tid, "children")); err != nil {
				continue
			}
		}
		for f := (fields{rest: data}); ; {
			kid, ok := atoi(f.next())
			if !ok {
				break
			}
			to = append(to, kid)
		}
	}
	return to, true
}

// inFirstThread reports whether the children of a process that matter to a
// terminal are those of its first thread.
func (w *treeWalk) inFirstThread(pid int) bool {
	for i := range w.found {
		if w.found[i].pid == pid {
			return w.found[i].threads == 1
		}
	}
	return pid == os.Getpid()
}

// parentLinks scans all of /proc once.
func parentLinks() map[int][]int {
	links := make(map[int][]int)
	for _, pid := range allPIDs() {
		if st, ok := readStat(pid); ok {
			links[st.ppid] = append(links[st.ppid], pid)
		}
	}
	return links
}

func allPIDs() []int {
	var buf [8192]byte
	pids := listNumbers(nil, buf[:], "/proc")
	slices.Sort(pids)
	return pids
}

// maxCommandLine bounds the length of a displayed command line.
const maxCommandLine = 80

// CommandLine returns the abbreviated command line of pid for display, such as
// "python3 -i". It returns "" if there is no such process.
func CommandLine(pid int) string {
	data, err := os.ReadFile(procPath(pid, "cmdline"))
	if err != nil {
		return ""
	}
	args := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
	if args[0] == "" { // A zombie, or a thread of the kernel.
		st, ok := readStat(pid)
		if !ok {
			return ""
		}
		return "[" + st.comm + "]"
	}
	args[0] = args[0][strings.LastIndexByte(args[0], '/')+1:]
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.Join(args, " ")))
	if len(line) > maxCommandLine {
		return string(line[:maxCommandLine-1]) + "…"
	}
	return string(line)
}
