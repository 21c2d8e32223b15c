package dend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"den/internal/keeper"
	"den/internal/provider/factory"
)

// sweepLimit bounds how long a place may keep the agents from starting.
const sweepLimit = 20 * time.Second

// sweep ends the sessions of this workspace that no agent of it claims: those
// of agents that were removed, renamed or moved while no keeper ran. It comes
// before the first start, because one of them may be an agent under its old
// name. Only providers that the workspace uses, or has used, are asked: no
// container engine may be there. The error names what could not be asked or ended.
func (d *daemon) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	d.mu.Lock()
	claimed := map[string]bool{}
	kinds := map[string]bool{}
	for _, m := range d.members {
		for _, kind := range m.kinds() {
			claimed[kind+"\x00"+m.SessionName()] = true
			kinds[kind] = true
		}
	}
	d.mu.Unlock()
	inUse := maps.Clone(kinds)
	for _, kind := range d.usedBefore() {
		kinds[kind] = true
	}
	all := slices.Collect(maps.Keys(kinds))
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, kind := range all {
		work.Go(func() { errs[i] = d.sweepKind(ctx, kind, claimed) })
	}
	work.Wait()
	for i, kind := range all {
		if errs[i] != nil {
			inUse[kind] = true // it may still have sessions of ours
		}
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
		if f.Used != nil && f.Used(d.site()) {
			used = append(used, f.Kind)
		}
	}
	return used
}

// maxSweeping bounds how many sessions of one kind are ended at the same time.
const maxSweeping = 16

func (d *daemon) sweepKind(ctx context.Context, kind string, claimed map[string]bool) error {
	p, err := d.providers.get(kind)
	if err != nil {
		return err
	}
	running, err := p.ListRunning(ctx, "")
	if err != nil {
		return fmt.Errorf("list %s sessions: %w", kind, err)
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
