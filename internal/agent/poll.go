package agent

import (
	"context"
	"time"
)

// poll calls done until it says so, at first at once and then up to twenty
// times a second. It is for screens: a provider tells nobody that one changed.
func poll(ctx context.Context, done func() (bool, error)) error {
	return pollEvery(ctx, 50*time.Millisecond, done)
}

// pollEvery is poll with a longest pause of its own, for what may take long.
func pollEvery(ctx context.Context, longest time.Duration, done func() (bool, error)) error {
	pause := 2 * time.Millisecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(pause*3/2, longest)
		timer.Reset(pause)
	}
}
