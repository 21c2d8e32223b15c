package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory is what a process holds, in MB (10^6 bytes).
type memory struct {
	pss     float64 // its own pages, and its share of those that others map too
	rss     float64
	private float64 // what its end would free
	own     float64 // without the pages of its binary, which the system may drop
}

func readMemory(pid int) (memory, error) {
	mb, err := sizes(pid, "smaps_rollup")
	return memory{pss: mb["Pss:"], rss: mb["Rss:"], private: mb["Private_Clean:"] + mb["Private_Dirty:"], own: mb["Anonymous:"]}, err
}

// sizes returns what a file of a process tells in kB, in MB.
func sizes(pid int, file string) (map[string]float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, err
	}
	mb := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "kB" {
			continue
		}
		kb, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		mb[f[0]] = kb * 1024 / 1e6
	}
	return mb, nil
}

// stat returns the fields of a process that come after its name, the state
// first.
func stat(pid int) ([]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	// The name, in parentheses, may hold anything.
	f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(f) < 13 {
		return nil, fmt.Errorf("/proc/%d/stat is cut", pid)
	}
	return f, nil
}

// cpuOf returns the user and system time that a process has used.
func cpuOf(pid int) (user, system time.Duration, err error) {
	f, err := stat(pid)
	if err != nil {
		return 0, 0, err
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Go runs on Linux
	u, err1 := strconv.Atoi(f[11])
	s, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("/proc/%d/stat: %q", pid, f[11:13])
	}
	return time.Duration(u) * tick, time.Duration(s) * tick, nil
}

// cpuOfTree returns what a process and those below it have used.
func cpuOfTree(root int) (sum time.Duration, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	below := map[int][]int{} // by parent
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f, err := stat(pid); err == nil { // else it has ended
			parent, _ := strconv.Atoi(f[1])
			below[parent] = append(below[parent], pid)
		}
	}
	for tree := []int{root}; len(tree) > 0; tree = tree[1:] {
		user, system, err := cpuOf(tree[0])
		if err != nil && tree[0] == root {
			return 0, err
		}
		sum += user + system
		tree = append(tree, below[tree[0]]...)
	}
	return sum, nil
}

// onCPU returns how long the threads of a process have run, more exactly than
// cpuOf. Threads that have ended are not counted: a server keeps its own.
func onCPU(pid int) (time.Duration, error) {
	texts, err := ofThreads(pid, "schedstat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, text := range texts {
		first, _, _ := strings.Cut(text, " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("schedstat: %w", err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// ofThreads reads a file of each thread of a process.
func ofThreads(pid int, file string) (texts []string, err error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("process %d is gone", pid)
	}
	for _, name := range names {
		if raw, err := os.ReadFile(name); err == nil { // else the thread ended
			texts = append(texts, string(raw))
		}
	}
	return texts, nil
}

// resetPeak has peakRSS begin anew.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakRSS is the most memory that a process has held, in MB.
func peakRSS(pid int) (float64, error) {
	mb, err := sizes(pid, "status")
	if err == nil && mb["VmHWM:"] == 0 {
		err = fmt.Errorf("process %d has no VmHWM", pid)
	}
	return mb["VmHWM:"], err
}

// switches counts how often the threads of a process were put on a CPU: what
// an idle process should not need.
func switches(pid int) (int, error) {
	texts, err := ofThreads(pid, "status")
	sum := 0
	for line := range strings.Lines(strings.Join(texts, "")) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasSuffix(f[0], "voluntary_ctxt_switches:") {
			n, _ := strconv.Atoi(f[1])
			sum += n
		}
	}
	return sum, err
}

func isAlive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// awaitIdle waits until none of the processes has run for a while, longer than
// a host waits before it returns memory, and at most for limit.
func awaitIdle(pids []int, limit time.Duration) error {
	const quiet = 4 * time.Second
	before, err := activity(pids)
	since := time.Now()
	for deadline := since.Add(limit); err == nil && time.Since(since) < quiet; {
		if time.Now().After(deadline) {
			return fmt.Errorf("processes do not come to rest within %v", limit)
		}
		time.Sleep(200 * time.Millisecond)
		var now active
		if now, err = activity(pids); now.switches != before.switches {
			before, since = now, time.Now()
		}
	}
	return err
}
