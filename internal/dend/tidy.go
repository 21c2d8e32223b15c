package dend

import (
	"context"
	"log"
	"time"

	"den/internal/provider"
	"den/internal/provider/container"
	"den/internal/provider/subprocess"
)

// How often what ended sessions left is removed, how old it must be in an
// engine, and how many ended sessions without a terminal are kept.
const (
	tidyEvery = time.Hour
	tidyAge   = 24 * time.Hour
	tidyKeep  = 32
)

// tidy removes what old ended sessions left, at the start and now and then.
func (ps *places) tidy(ctx context.Context) {
	for {
		ps.mu.Lock()
		var opened []provider.Provider
		for _, p := range ps.opened {
			opened = append(opened, p)
		}
		ps.mu.Unlock()
		for _, p := range opened {
			if err := tidyOne(ctx, p); err != nil && ctx.Err() == nil {
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

func tidyOne(ctx context.Context, p provider.Provider) (err error) {
	switch p := p.(type) {
	case *container.Provider:
		_, err = p.Prune(ctx, tidyAge)
	case *subprocess.Provider:
		_, err = p.Prune(ctx, tidyKeep)
	}
	return err
}
