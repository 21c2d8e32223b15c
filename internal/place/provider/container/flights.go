package container

import (
	"context"
	"sync"
)

// flights keeps two calls from making one thing at the same time: ten agents
// that start together from one context build it once.
type flights struct {
	mu  sync.Mutex // guards now
	now map[string]chan struct{}
}

// take waits until nobody makes the thing. The caller looks whether it is
// there now, makes it if not, and calls done.
func (f *flights) take(ctx context.Context, thing string) (done func(), err error) {
	for {
		f.mu.Lock()
		other, busy := f.now[thing]
		if !busy {
			landed := make(chan struct{})
			if f.now == nil {
				f.now = map[string]chan struct{}{}
			}
			f.now[thing] = landed
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.now, thing)
				f.mu.Unlock()
				close(landed)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
