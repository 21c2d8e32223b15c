package tree

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Those who ask during a scan share one more, which begins after they asked.
func TestScansAreShared(t *testing.T) {
	var scans atomic.Int32
	begun, release := make(chan struct{}, 2), make(chan struct{})
	s := &SharedScan[[]int]{Scan: func() []int { n := scans.Add(1); begun <- struct{}{}; <-release; return []int{int(n)} }}
	var callers sync.WaitGroup
	callers.Go(func() { s.Find() })
	<-begun
	joined := s.join()
	for range 50 {
		if s.join() != joined {
			t.Error("two callers during a scan wait for different scans")
		}
	}
	close(release)
	if found := s.Find(); found[0] != 2 {
		t.Errorf("got scan %d, which began before the call", found[0])
	}
	callers.Wait()
	if got := scans.Load(); got != 2 {
		t.Errorf("%d scans", got)
	}
}
