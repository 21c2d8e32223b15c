package tree_test

import (
	"sync"
	"testing"
	"time"

	"den/internal/process/tree"
)

// TestRest: a process slows down whenever nothing has happened for a while.
func TestRest(t *testing.T) {
	a, slowed, stop := tree.NewActivity(), make(chan struct{}), make(chan struct{})
	var resting sync.WaitGroup
	resting.Go(func() { a.Rest(stop, time.Millisecond, func() { slowed <- struct{}{} }, nil, nil) })
	for range 3 {
		<-slowed
		a.Note()
	}
	<-slowed
	close(stop)
	resting.Wait()
}
