//go:build linux

package pty

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Where the kernel has no children files, a scan of /proc finds the same processes.
func TestTreeWalkByScan(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & (sleep 1000; true) & (sleep 1000 & echo up; cat); wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range append(Descendants(cmd.Process.Pid), cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
		cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "up" {
		t.Fatalf("sh said %q, %v", line, err)
	}
	pids := func(scan bool) []int {
		var w treeWalk
		w.reset()
		if scan {
			w.scan = parentLinks()
		}
		w.walk(cmd.Process.Pid, nil)
		var out []int
		for _, p := range w.found {
			out = append(out, p.pid)
		}
		slices.Sort(out)
		return out
	}
	// The shell may still be starting one of them.
	var files, scanned []int
	for range 1000 {
		files, scanned = pids(false), pids(true)
		if len(files) >= 4 && slices.Equal(files, scanned) {
			return
		}
	}
	t.Errorf("children files give %v, a scan gives %v", files, scanned)
}

// A child that was listed may have ended before it is looked at, and its number
// may be another's: that process and what is below it are not of the tree.
func TestTreeWalkLeavesReusedNumbers(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	root := os.Getpid() + 1<<22 // no number of a process
	var w treeWalk
	w.reset()
	w.scan = map[int][]int{root: {cmd.Process.Pid, os.Getpid()}, os.Getpid(): {cmd.Process.Pid}}
	w.walk(root, nil)
	for _, p := range w.found {
		t.Errorf("process %d (child of %d) was taken for one of the tree of %d", p.pid, p.ppid, root)
	}
}
