package dend

import (
	"context"
	"log"
	"time"

	"den/internal/provider"
)

// tidyEvery is how often what ended sessions left is removed.
const tidyEvery = time.Hour

// tidy removes what old ended sessions left, at the start and now and then.
func (ps *places) tidy(ctx context.Context) {
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
				log.Printf("remove what ended sessions left: %v", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tidyEvery):
		}
	}
}
