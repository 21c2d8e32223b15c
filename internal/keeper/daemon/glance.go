package daemon

import (
	"context"
	"log"
	"sync"
	"time"

	"den/internal/keeper/controller"
	"den/internal/place/provider"
)

// glanceLimit bounds one glance at a place. Agents of one that does not answer
// are asked alone.
const glanceLimit = 20 * time.Second

// glance asks each place once for all sessions, and tells what that says of the
// agents there.
func (d *daemon) glance(ctx context.Context) map[string]controller.Seen {
	ctx, cancel := context.WithTimeout(ctx, glanceLimit)
	defer cancel()
	at := map[string][]member{} // by kind
	for _, m := range d.plan.now().members {
		if m.box == "" { // else there are two places to ask
			at[m.kind] = append(at[m.kind], m)
		}
	}
	var mu sync.Mutex // guards seen
	seen := map[string]controller.Seen{}
	var work sync.WaitGroup
	for kind, members := range at {
		p, _ := d.providers.lookup(kind)
		o, ok := p.(provider.Observer)
		if !ok {
			continue
		}
		work.Go(func() {
			all, err := o.Observe(ctx, "")
			if err != nil {
				if ctx.Err() == nil {
					log.Printf("observe %s sessions: %v", kind, err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, m := range members {
				running, closer := m.Glance(all[m.SessionName()])
				seen[m.key] = controller.Seen{Running: running, Closer: closer}
			}
		})
	}
	work.Wait()
	return seen
}
