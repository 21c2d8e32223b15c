package pty

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// Descendants lists the live processes below root, nearest first, by parent
// links. A zombie does not count, and root itself is not listed. A process
// whose parent died is below whoever adopted it.
func Descendants(root int) []int {
	var w treeWalk
	w.walk(root)
	out := make([]int, 0, len(w.found))
	for _, p := range w.found {
		if p.alive() {
			out = append(out, p.pid)
		}
	}
	return out
}

// treeWalk collects processes by parent links.
type treeWalk struct {
	found []procStat
	kids  []int
	scan  map[int][]int // parent to children, where the kernel has no children files
}

// walk adds the processes below root that it does not have yet.
func (w *treeWalk) walk(root int) {
	queue := []int{root}
	seen := map[int]bool{root: true}
	for _, p := range w.found {
		seen[p.pid] = true // And what is below it was found with it.
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		w.kids = w.children(pid, w.kids[:0])
		for _, kid := range w.kids {
			if seen[kid] {
				continue
			}
			seen[kid] = true
			st, ok := readStat(kid)
			if !ok {
				continue
			}
			queue = append(queue, kid)
			w.found = append(w.found, st)
		}
	}
}

func (w *treeWalk) has(pid int) bool {
	return slices.ContainsFunc(w.found, func(p procStat) bool { return p.pid == pid })
}

// children appends the children of all threads of pid.
func (w *treeWalk) children(pid int, to []int) []int {
	if w.scan == nil {
		kids, ok := childrenFiles(pid, to)
		if ok {
			return kids
		}
		w.scan = parentLinks()
	}
	return append(to, w.scan[pid]...)
}

// childrenFiles reads /proc/PID/task/*/children. It reports false where the kernel has none.
func childrenFiles(pid int, to []int) ([]int, bool) {
	ok := true
	tasks(pid, func(tid int) {
		data, err := os.ReadFile(taskPath(pid, tid, "children"))
		if err != nil {
			// A kernel without these files has none for us either.
			if _, self := os.Stat("/proc/thread-self/children"); self != nil {
				ok = false
			}
			return
		}
		for _, f := range strings.Fields(string(data)) {
			if kid, err := strconv.Atoi(f); err == nil {
				to = append(to, kid)
			}
		}
	})
	return to, ok
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
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// Marked lists the live processes of this user, but for this one, whose
// environment has exactly the entry env ("KEY=VALUE"): what a killed host
// left behind. It reads the environment that a process was started with.
func Marked(env string) []int {
	if key, _, ok := strings.Cut(env, "="); !ok || key == "" {
		return nil
	}
	self, uid := os.Getpid(), uint32(os.Geteuid())
	var out []int
	for _, pid := range allPIDs() {
		var st unix.Stat_t
		dir := "/proc/" + strconv.Itoa(pid)
		if pid == self || unix.Stat(dir, &st) != nil || st.Uid != uid {
			continue
		}
		data, err := os.ReadFile(dir + "/environ")
		if err != nil || !hasEntry(string(data), env) {
			continue
		}
		if ps, ok := readStat(pid); ok && ps.alive() {
			out = append(out, pid)
		}
	}
	return out
}

func hasEntry(environ, env string) bool {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if entry == env {
			return true
		}
	}
	return false
}

// maxCommandLine is how many characters of a command line people get to see.
const maxCommandLine = 80

// CommandLine is what pid runs, in short and for people: "python3 -i". It is
// empty when there is no such process.
func CommandLine(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
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
