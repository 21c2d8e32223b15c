package daemon

import (
	"context"
	"path/filepath"
	"sync"

	"den/internal/keeper"
	"den/internal/keeper/receiver"
)

// tellReceivers tells the workspace's receiver of webhooks what begins to need a
// person, until the context ends. A file that names another receiver takes
// effect at once.
func (d *daemon) tellReceivers(ctx context.Context) {
	for ctx.Err() == nil {
		now := d.plan.now()
		hooks := now.workspace.Webhooks
		run, cancel := context.WithCancel(ctx)
		var telling sync.WaitGroup
		if hooks.URL != "" {
			telling.Go(func() {
				receiver.Tell(run, receiver.Options{
					Dir: filepath.Join(d.state.Path, "webhooks"), URL: hooks.URL, Secret: d.getenv(hooks.SecretEnv), Events: hooks.Events, Mind: d.hasMind,
					Follow: func(ctx context.Context, send func(keeper.Attention) error) error {
						return d.followAttention(ctx, d.state.Config, send)
					},
				})
			})
		}
		select {
		case <-ctx.Done():
		case <-now.replaced:
		}
		cancel()
		telling.Wait()
	}
}

// hasMind reports whether an agent has a harness.
func (d *daemon) hasMind(agent string) bool {
	m, err := d.find(agent)
	return err == nil && d.socketOf(m) != ""
}
