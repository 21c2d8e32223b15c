package wake_test

import (
	"testing"

	"den/internal/base/wake"
)

// What is told twice before anybody has looked is one look.
func TestSignalMerges(t *testing.T) {
	s := wake.New()
	s.Set()
	s.Set()
	<-s
	select {
	case <-s:
		t.Error("a second token lies there")
	default:
	}
}

func TestIsClosed(t *testing.T) {
	c := make(chan struct{})
	if wake.IsClosed(c) {
		t.Error("an open channel is said to be closed")
	}
	close(c)
	if !wake.IsClosed(c) {
		t.Error("a closed channel is said to be open")
	}
}
