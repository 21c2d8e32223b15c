package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// running is a recorder's process.
type running struct {
	name  string
	pid   int
	began uint64 // by the kernel's clock
}

// recorders lists the agents' processes.
func (s *storm) recorders() (all []running) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Error(err)
	}
	script := filepath.Join(s.dir, "recorder.pl")
	for _, p := range procs {
		raw, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err != nil {
			continue // it has just ended
		}
		argv := strings.Split(string(raw), "\x00")
		if len(argv) < 4 || argv[1] != script {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			s.t.Error(err)
		}
		if began, ok := beganAt(pid); ok {
			all = append(all, running{argv[2], pid, began})
		}
	}
	return all
}

// beganAt returns when a process began; ok is false for one that has ended.
func beganAt(pid int) (began uint64, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	began, err = strconv.ParseUint(fields[19], 10, 64)
	return began, err == nil
}

// A watch counts the agents' processes all the time.
type watch struct {
	storm *storm

	mu      sync.Mutex // guards the fields below
	paused  bool       // no agent is wanted
	seen    map[string]time.Time
	longest time.Duration // that a lasting agent was missing
	missing string        // which one that was
	scans   int
}

// run watches until the context ends.
func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		found := w.storm.recorders()
		w.note(found)
		w.findDoubles(found)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// findDoubles reports agents of which two processes ran at the same moment. A
// scan takes time: what it saw first may have ended before the other began. So
// the older one is looked at again.
func (w *watch) findDoubles(found []running) {
	for i, one := range found {
		for _, other := range found[i+1:] {
			if one.name != other.name {
				continue
			}
			again := func(r running) bool { began, ok := beganAt(r.pid); return ok && began == r.began }
			if again(one) && again(other) && again(one) {
				w.storm.t.Errorf("%s: agent %s runs twice: %d and %d", time.Now().Format(time.TimeOnly), one.name, one.pid, other.pid)
			}
		}
	}
}

func (w *watch) note(found []running) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scans++
	now := time.Now()
	for _, name := range lasting {
		if !w.paused && !slices.ContainsFunc(found, func(r running) bool { return r.name == name }) {
			continue
		}
		if last, ok := w.seen[name]; ok && now.Sub(last) > w.longest {
			w.longest, w.missing = now.Sub(last), name
		}
		w.seen[name] = now
	}
}

func (w *watch) longestMissing() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.longest
}

// explainProcesses shows every process of the workspace, what it waits for in
// the kernel, and the locks that it holds or waits for.
func (s *storm) explainProcesses() {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Error(err)
	}
	tests := filepath.Dir(s.dir) + "/"
	for _, p := range procs {
		text := func(name string) string {
			raw, _ := os.ReadFile(filepath.Join(p, name)) // Best effort: it may have ended.
			return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " "))
		}
		if cmdline := text("cmdline"); strings.Contains(text("environ"), tests) {
			_, state, _ := strings.Cut(text("stat"), ") ")
			s.t.Logf("%s %.60q: %.30s waits in %s, system call %.40s", filepath.Base(p), cmdline, state, text("wchan"), text("syscall"))
		}
	}
	locks, err := os.ReadFile("/proc/locks")
	s.t.Logf("the locks (%v):\n%s", err, locks)
}

func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = true
}

func (w *watch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d counts of processes; longest time that an agent was missing: %v (%s)", w.scans, w.longest.Round(time.Millisecond), w.missing)
}
