package daemon

import (
	"context"
	"log"
	"time"

	"den/internal/place/provider"
)

// pruneEvery is the interval between two prunes.
const pruneEvery = time.Hour

// prune removes the remains of old ended sessions, now and at intervals, until
// the context ends.
func (ps *providers) prune(ctx context.Context) {
	for {
		ps.mu.Lock()
		var opened []provider.Pruner
		for _, p := range ps.opened {
			if pruner, ok := p.(provider.Pruner); ok {
				opened = append(opened, pruner)
			}
		}
		ps.mu.Unlock()
		for _, p := range opened {
			if err := p.PruneOld(ctx); err != nil && ctx.Err() == nil {
				log.Printf("prune ended sessions: %v", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneEvery):
		}
	}
}
