package daemon

import (
	"context"
	"log"
	"sync"
	"time"

	"den/internal/keeper"
	"den/internal/place/workspace"
)

// maxChecks bounds how many pools are asked at the same time.
const maxChecks = 8

// scale asks the pools how many of them are wanted, on every patrol.
func (d *daemon) scale(ctx context.Context) {
	for {
		ws := d.plan.now().workspace
		sizes := d.askPools(ctx, ws)
		if ctx.Err() != nil {
			return
		}
		if err := d.resize(sizes); err != nil {
			log.Printf("scale: %v", err)
		}
		pause := ws.Keeper.PatrolInterval
		if pause <= 0 {
			pause = 30 * time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// askPools runs the checks, all at the same time: one that hangs keeps no other
// pool waiting. One that fails says nothing: a pool is not shrunk on a doubt.
func (d *daemon) askPools(ctx context.Context, ws *workspace.Workspace) map[string]int {
	var mu sync.Mutex // guards sizes
	sizes := map[string]int{}
	var checks sync.WaitGroup
	room := make(chan struct{}, maxChecks) // further checks wait for one to end
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		if ag.Pool == nil || ag.Pool.Check == "" {
			continue
		}
		checks.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			n, err := count(ctx, ag, d.environ)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				d.checks.note(ag.Name, err.Error())
			default:
				d.checks.note(ag.Name, "")
				mu.Lock()
				sizes[ag.Name] = n
				mu.Unlock()
			}
		})
	}
	checks.Wait()
	return sizes
}

// poolChecks remember why pools could not be asked.
type poolChecks struct {
	tell func(keeper.Event)

	mu       sync.Mutex        // guards problems
	problems map[string]string // by pool; "" for one that worked
}

func newPoolChecks(tell func(keeper.Event)) poolChecks {
	return poolChecks{tell: tell, problems: map[string]string{}}
}

// note tells once why a pool could not be asked, and again when the reason is
// another or it worked in between. why is "" for one that worked.
func (c *poolChecks) note(pool, why string) {
	c.mu.Lock()
	told := c.problems[pool] == why
	c.problems[pool] = why
	c.mu.Unlock()
	if !told && why != "" {
		c.tell(keeper.Event{Type: keeper.EventScaleFailed, Agent: pool, Why: why})
	}
}

// resize gives pools new sizes, in the workspace as it is by now: its file may
// have been read again while the pools were asked.
func (d *daemon) resize(sizes map[string]int) error {
	d.planning.Lock()
	defer d.planning.Unlock()
	now := d.plan.now()
	ws := now.workspace
	changed := map[string]int{}
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		n, asked := sizes[ag.Name]
		if ag.Pool == nil || !asked {
			continue
		}
		n = min(max(n, ag.Pool.Min), ag.Pool.Max)
		if before := now.counts[ag.Name]; n != before {
			changed[ag.Name] = n
			d.controller.Event(keeper.Event{Type: keeper.EventScaled, Agent: ag.Name, Detail: map[string]any{"from": before, "to": n}})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return d.apply(ws, changed)
}
