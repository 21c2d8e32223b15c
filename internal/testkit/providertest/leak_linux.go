package providertest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var leakCases = []testCase{{"NothingLeaks", nothingLeaks}}

// nothingLeaks goes through many lives and looks at what is left of them: in
// this process, and of its children.
func nothingLeaks(w *world) {
	round := func() {
		w.start("stopped", "idle")
		w.stop("stopped")
		w.start("ended", "exit", "0")
		w.ends("ended")
		w.fails("Start of what cannot be executed", w.p.Start(w.Context(), "failed", w.command("/no/such/program")))
		w.setMeta("ended", "k", "v")
		w.list(w.p, "")
		if !w.lacks(Peek) {
			w.peek(w.p, "ended", 1)
		}
	}
	round() // what is opened once is no leak
	fds := w.descriptors()
	old := zombies() // of providers that other cases opened and let go of
	for range 5 {
		round()
	}
	w.eventually("descriptors are closed", func() bool { return w.descriptors() <= fds })
	w.eventually("children are gone", func() bool {
		w.list(w.p, "") // a provider may collect its children when it is asked
		return !slices.ContainsFunc(zombies(), func(pid int) bool { return !slices.Contains(old, pid) })
	})
	w.eventually("the sessions' programs are gone", func() bool { return len(w.processes(w.helper, w.dir)) == 0 })
}

func (w *world) descriptors() int {
	w.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	w.ok("list descriptors", err)
	return len(entries)
}

// zombies are children of this process that have ended and were not asked for.
func zombies() []int {
	var found []int
	files, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for field := range strings.FieldsSeq(string(raw)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			stat, err := os.ReadFile("/proc/" + field + "/stat")
			if err == nil && strings.Contains(string(stat), ") Z ") {
				found = append(found, pid)
			}
		}
	}
	return found
}

// processes are those that run a program with an argument below dir.
func (w *world) processes(program, dir string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(raw), "\x00")
		if filepath.Base(args[0]) == filepath.Base(program) && strings.Contains(string(raw), "\x00"+dir) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				found = append(found, pid)
			}
		}
	}
	return found
}

// endProcesses ends what a provider does not promise to end.
func (w *world) endProcesses(program, dir string) {
	w.Helper()
	w.eventually("what was left is ended", func() bool {
		left := w.processes(program, dir)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // Best effort: it is looked for again.
		}
		return len(left) == 0
	})
}
