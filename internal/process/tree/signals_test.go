package tree_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"den/internal/process/tree"
)

// The first signal asks with grace, the second without, and more change nothing.
func TestObey(t *testing.T) {
	asked, stop, calls := make(chan os.Signal, 4), make(chan struct{}), make(chan time.Duration, 4)
	for range 4 {
		asked <- syscall.SIGTERM
	}
	obeyed := make(chan struct{})
	go func() {
		defer close(obeyed)
		tree.EndOnSignal(asked, stop, time.Minute, func(_ os.Signal, grace time.Duration) { calls <- grace })
	}()
	if a, b := <-calls, <-calls; a+b != time.Minute {
		t.Errorf("graces %s and %s", a, b)
	}
	close(stop)
	<-obeyed
	if len(calls) > 0 {
		t.Error("it called again")
	}
}
