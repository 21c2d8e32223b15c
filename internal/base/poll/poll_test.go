package poll_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/base/poll"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := poll.Pause(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("it lasted %v: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := poll.Pause(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: %v", err)
		}
	})
}
