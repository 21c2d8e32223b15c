package children_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"den/internal/place/provider/children"
)

// One that has ended is collected, one that runs is left alone.
func TestReap(t *testing.T) {
	start := func(argv ...string) int {
		cmd := exec.Command(argv[0], argv[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() }) // Best effort: it may have ended.
		return cmd.Process.Pid
	}
	there := func(pid int) bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(pid))
		return err == nil
	}
	var s children.Set
	s.Reap() // of none
	ends, stays := start("true"), start("sleep", "1000")
	s.Add(ends)
	s.Add(stays)
	for deadline := time.Now().Add(2 * time.Minute); there(ends); s.Reap() {
		if time.Now().After(deadline) {
			t.Fatal("what has ended is not collected")
		}
	}
	if s.Reap(); !there(stays) {
		t.Error("what runs is gone")
	}
}
