package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestThreads: one goroutine runs at a time but in a flood.
func TestThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	var th threads
	for i, step := range []struct {
		do   func()
		want int
	}{{th.rest, 1}, {th.flood, 2}, {th.flood, 2}, {th.rest, 1}, {th.rest, 1}, {th.flood, 2}} {
		if step.do(); runtime.GOMAXPROCS(0) != step.want {
			t.Errorf("step %d: %d at once, want %d", i, runtime.GOMAXPROCS(0), step.want)
		}
	}
}

// TestHookRunsFreely: that a host runs one goroutine at a time is nothing to a
// user's program.
func TestHookRunsFreely(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("DEN_TEST_MINE", "yes")
	dir := t.TempDir()
	seen, path := filepath.Join(dir, "seen"), filepath.Join(dir, "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nenv > "+seen+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := startHook(path, "", place{})
	if err != nil {
		t.Fatal(err)
	}
	<-h.ended
	h.close()
	env, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(env); strings.Contains(got, "GOMAXPROCS") || !strings.Contains(got, "DEN_TEST_MINE=yes\n") {
		t.Errorf("the hook's environment:\n%s", got)
	}
}
