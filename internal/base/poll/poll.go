// Package poll calls a function repeatedly until it reports that it is done.
package poll

import (
	"context"
	"time"
)

const (
	firstPause   = 2 * time.Millisecond
	longestPause = 50 * time.Millisecond
)

// Until calls done at once and then up to twenty times a second, until it
// reports true, it fails, or the context ends. It is for screens: a provider
// does not tell that one changed.
func Until(ctx context.Context, done func() (bool, error)) error {
	return Every(ctx, longestPause, done)
}

// Every is Until with a longest pause of its own, for what may take long.
func Every(ctx context.Context, longest time.Duration, done func() (bool, error)) error {
	pause := firstPause
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

// Pause waits for a time. It is an error if the context ends first.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
