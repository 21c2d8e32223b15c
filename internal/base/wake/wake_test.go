package wake_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := wake.Pause(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("it lasted %v: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := wake.Pause(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: %v", err)
		}
	})
}
