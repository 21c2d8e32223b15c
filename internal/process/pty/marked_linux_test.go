package pty_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"den/internal/process/pty"
)

// Callers that share a scan each get the processes of their own mark.
func TestMarkedTogether(t *testing.T) {
	const marks = 8
	want := map[string]int{}
	for i := range marks {
		mark := fmt.Sprintf("DEN_TEST_TOGETHER=%d-%d", os.Getpid(), i)
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"A=b", mark}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill() // Best effort: it sleeps.
			cmd.Wait()         // Best effort: it was killed.
		})
		want[mark] = cmd.Process.Pid
	}
	var work sync.WaitGroup
	for mark, pid := range want {
		for range 4 {
			work.Go(func() {
				if got := pty.Marked(mark); !slices.Equal(got, []int{pid}) {
					t.Errorf("%s: %v, want %d", mark, got, pid)
				}
				if got := pty.Marked(mark + "0"); len(got) > 0 {
					t.Errorf("%s0: %v", mark, got)
				}
			})
		}
	}
	work.Wait()
}
