package web

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"den/internal/ui/dashboard"
)

// thumbGap is the time between two frames of a thumbnail.
const thumbGap = 250 * time.Millisecond

// slotKey is one screen of a page: a session may be shown small and large.
type slotKey struct {
	id    string
	large bool
}

// slot holds the newest frame of a screen, and the one that the page has.
// Page.mu guards it.
type slot struct {
	cancel  context.CancelFunc
	newest  *dashboard.Frame // or nil
	sent    *dashboard.Frame // or nil: the page has nothing
	problem string
	over    bool
	dirty   bool // the page has not been told
}

// take returns what the page must be told.
func (s *slot) take(key slotKey) toldPaint {
	t := toldPaint{ID: key.id, Large: key.large, Problem: s.problem, Over: s.over}
	if s.newest != nil && s.newest != s.sent {
		t.paint = newPaint(s.sent, s.newest)
		s.sent = s.newest
	}
	s.dirty = false
	return t
}

// wantLocked watches these sessions, and no others, in one size.
func (p *page) wantLocked(ctx context.Context, large bool, ids []string) {
	for key, s := range p.slots {
		if key.large == large && !slices.Contains(ids, key.id) {
			s.cancel()
			delete(p.slots, key)
		}
	}
	for _, id := range ids {
		key := slotKey{id, large}
		if p.slots[key] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		s := &slot{cancel: cancel}
		p.slots[key] = s
		p.work.Go(func() {
			defer cancel()
			p.watch(ctx, key, s)
		})
	}
}

// watch keeps a slot's newest frame until the session or ctx ends.
func (p *page) watch(ctx context.Context, key slotKey, s *slot) {
	found, err := p.server.hub.find(key.id)
	if err != nil {
		p.update(s, func() { s.problem, s.over = err.Error(), true })
		return
	}
	gap := thumbGap
	if key.large {
		gap = 0 // as often as there are screens
	}
	v := p.server.model.Glance(found.Dir, gap)
	defer v.Close()
	for {
		f, err := v.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, io.EOF):
			p.update(s, func() { s.over = true })
			return
		case err != nil:
			p.update(s, func() { s.problem, s.over = err.Error(), true })
			return
		}
		p.update(s, func() { s.newest = f })
	}
}

func (p *page) update(s *slot, change func()) {
	p.mu.Lock()
	change()
	s.dirty = true
	p.mu.Unlock()
	wakeUp(p.wake)
}
