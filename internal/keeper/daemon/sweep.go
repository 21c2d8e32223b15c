package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"den/internal/keeper"
	"den/internal/keeper/controller"
	"den/internal/place/provider"
	"den/internal/place/provider/factory"
)

// sweepLimit bounds how long a place may keep the agents from starting.
const sweepLimit = 20 * time.Second

// listing is what one provider says to run.
type listing struct {
	names []string
	err   error
}

// listSessions asks which sessions of this workspace run, by the kind of their
// provider. Only providers that the workspace uses, or has used, are asked: no
// container engine may be there.
func (d *daemon) listSessions(ctx context.Context) map[string]listing {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	kinds := d.kindsInUse()
	for _, kind := range d.usedBefore() {
		kinds[kind] = true
	}
	return atOnce(kinds, func(kind string, _ bool) (l listing, ok bool) {
		p, err := d.providers.get(kind)
		if err == nil {
			l.names, err = p.ListRunning(ctx, "")
		}
		if err != nil {
			l.err = fmt.Errorf("list %s sessions: %w", kind, err)
		}
		return l, true
	})
}

// atOnce asks for each key at the same time, and returns the answers. A key of
// which ask reports false has none.
func atOnce[K, V any](of map[string]K, ask func(key string, about K) (V, bool)) map[string]V {
	var mu sync.Mutex // guards all
	all := map[string]V{}
	var work sync.WaitGroup
	for key, about := range of {
		work.Go(func() {
			if v, ok := ask(key, about); ok {
				mu.Lock()
				defer mu.Unlock()
				all[key] = v
			}
		})
	}
	work.Wait()
	return all
}

// kindsInUse are those of the agents' providers.
func (d *daemon) kindsInUse() map[string]bool {
	kinds := map[string]bool{}
	for _, m := range d.plan.now().members {
		for _, kind := range m.kinds() {
			kinds[kind] = true
		}
	}
	return kinds
}

// sweep ends the sessions of this workspace that no agent of it claims: those
// of agents that were removed, renamed or moved while no keeper ran. It comes
// before the first start, because one of them may be an agent under its old
// name. The error names what could not be asked or ended.
func (d *daemon) sweep(ctx context.Context, running map[string]listing) error {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	claimed := map[string]bool{}
	for _, m := range d.plan.now().members {
		for _, kind := range m.kinds() {
			claimed[kind+"\x00"+m.SessionName()] = true
		}
	}
	inUse := d.kindsInUse()
	var errs []error
	for kind, err := range atOnce(running, func(kind string, l listing) (error, bool) {
		if l.err != nil {
			return l.err, true
		}
		err := d.sweepKind(ctx, kind, l.names, claimed)
		return err, err != nil
	}) {
		errs = append(errs, err)
		inUse[kind] = true // it may still have sessions of ours
	}
	d.planning.Lock()
	defer d.planning.Unlock()
	return errors.Join(append(errs, d.saveRegistration(d.registration.Name, inUse))...)
}

// usedBefore lists the kinds of providers in which earlier keepers may have left
// sessions, as the disk tells.
func (d *daemon) usedBefore() []string {
	used := slices.Clone(d.registration.Providers)
	for _, f := range factory.All {
		if f.Used != nil && f.Used(d.factory()) {
			used = append(used, f.Kind)
		}
	}
	return used
}

// maxSweeping bounds how many sessions of one kind are ended at the same time.
const maxSweeping = 16

func (d *daemon) sweepKind(ctx context.Context, kind string, running []string, claimed map[string]bool) error {
	p, err := d.providers.get(kind)
	if err != nil {
		return err
	}
	errs := make([]error, len(running))
	var work sync.WaitGroup
	room := make(chan struct{}, maxSweeping) // further sessions wait for one to end
	for i, name := range running {
		if claimed[kind+"\x00"+name] {
			continue
		}
		work.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			d.controller.Event(keeper.Event{Type: keeper.EventOrphan, Why: "no agent of the workspace claims its session", Detail: map[string]any{"session": name, "provider": kind}})
			if err := p.Stop(ctx, name); err != nil {
				errs[i] = fmt.Errorf("end session %s, which no agent claims: %w", name, err)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

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
	states := atOnce(at, func(kind string, _ []member) (all map[string]provider.Observation, ok bool) {
		p, ok := d.providers.lookup(kind)
		if !ok {
			return nil, false
		}
		all, err := p.Observe(ctx, "")
		if err != nil && ctx.Err() == nil {
			log.Printf("observe %s sessions: %v", kind, err)
		}
		return all, err == nil
	})
	seen := map[string]controller.Seen{}
	for kind, all := range states {
		for _, m := range at[kind] {
			running, closer := m.Glance(all[m.SessionName()])
			seen[m.key] = controller.Seen{Running: running, Closer: closer}
		}
	}
	return seen
}
