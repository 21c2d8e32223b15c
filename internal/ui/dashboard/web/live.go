package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"den/internal/base/poll"
	"den/internal/ui/dashboard"

	"github.com/coder/websocket"
)

const (
	livePath     = "/live"
	liveProtocol = "den.live" // what the server chooses: it never repeats the token

	maxThumbs   = 256      // screens that a page may watch; what is above it is not shown
	maxAsked    = 64 << 10 // bytes of what a page says at once
	maxInFlight = 3        // messages that a page has not drawn yet
	maxPaints   = 32       // screens in one message; the rest follows in the next
	messageGap  = 33 * time.Millisecond
	writeLimit  = 30 * time.Second // a browser that takes nothing for so long is gone
)

// tooMany is for the person who has opened one page too many.
var tooMany = fmt.Sprintf("%d pages of this dashboard are open already. Close one: this one goes on by itself.", maxPages)

// asked is a message from a page: what it shows, and what it has drawn.
type asked struct {
	Thumbs *[]string `json:"thumbs"` // ids; or nil: as before
	Large  *string   `json:"large"`  // an id, or "": none; or nil: as before
	Ack    uint64    `json:"ack"`    // the last message that was drawn; 0: as before
}

// told is what a page hears.
type told struct {
	N     uint64          `json:"n"`
	Now   time.Time       `json:"now"` // ages are counted by this clock
	Homes json.RawMessage `json:"homes,omitempty"`
	// Actions says that the page may decide; it is told with Homes.
	Actions bool            `json:"actions,omitempty"`
	Agents  json.RawMessage `json:"agents,omitempty"`
	// Kernels are the agents that sleep and wake.
	Kernels json.RawMessage `json:"kernels,omitempty"`
	Paints  []toldPaint     `json:"paints,omitempty"`
}

type toldPaint struct {
	ID      string `json:"id"`
	Large   bool   `json:"large,omitempty"`
	Problem string `json:"problem,omitempty"` // why there is no screen
	Over    bool   `json:"over,omitempty"`    // no other screen will come
	*paint
}

// page is one connected browser page.
type page struct {
	server *Server
	conn   *websocket.Conn
	wake   chan struct{} // one token: something may be there to be told
	work   sync.WaitGroup

	seen uint64 // the hub's revision; belongs to the sender
	n    uint64 // the last message; belongs to the sender

	mu    sync.Mutex // guards the fields below
	acked uint64
	slots map[slotKey]*slot
}

func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" { // a page asks whether it is let in
		http.Error(w, "den: this is the address of a WebSocket", http.StatusUpgradeRequired)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{liveProtocol}}) // it checks the origin once more
	if err != nil {
		s.words.Printf("open a page's connection: %v", err)
		return
	}
	conn.SetReadLimit(maxAsked)
	select {
	case <-s.pages:
		defer func() { s.pages <- struct{}{} }()
	default: // a browser tells a page why a connection was closed, but not why none was opened
		conn.Close(websocket.StatusTryAgainLater, tooMany) // Best effort: it ends either way.
		return
	}
	p := &page{server: s, conn: conn, wake: make(chan struct{}, 1), slots: map[slotKey]*slot{}}
	p.run(r.Context())
}

// run serves the page until either side disconnects.
func (p *page) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer p.work.Wait()
	defer cancel()
	defer p.conn.CloseNow() // Best effort: it is over.
	p.server.hub.join(p.wake)
	defer p.server.hub.leave(p.wake)
	p.work.Go(func() {
		defer cancel()
		p.listen(ctx)
	})
	for p.await(ctx) {
		m := p.gather()
		if m == nil {
			continue
		}
		if err := p.send(ctx, m); err != nil {
			return // the browser went away
		}
	}
}

// await returns when there may be something to send, or false when the
// connection is over.
func (p *page) await(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-p.wake:
		return true
	}
}

// listen takes in what the page says.
func (p *page) listen(ctx context.Context) {
	for {
		_, raw, err := p.conn.Read(ctx)
		if err != nil {
			return
		}
		var a asked
		if err := json.Unmarshal(raw, &a); err != nil {
			p.conn.Close(websocket.StatusUnsupportedData, "not understood") // Best effort: it ends either way.
			return
		}
		p.take(ctx, a)
		wakeUp(p.wake)
	}
}

func (p *page) take(ctx context.Context, a asked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acked = max(p.acked, a.Ack)
	if a.Thumbs != nil {
		ids := *a.Thumbs
		p.wantLocked(ctx, false, ids[:min(len(ids), maxThumbs)])
	}
	if a.Large != nil {
		ids := []string{*a.Large}
		if *a.Large == "" {
			ids = nil
		}
		p.wantLocked(ctx, true, ids)
		p.lookLocked()
	}
}

// gather returns the next message, or nil if there is nothing new or the page
// has enough to draw.
func (p *page) gather() *told {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n >= p.acked+maxInFlight {
		return nil // the ack rouses
	}
	m := &told{N: p.n + 1, Now: time.Now()}
	m.Homes, m.Agents, m.Kernels, p.seen = p.server.hub.since(p.seen)
	m.Actions = m.Homes != nil && p.server.actions != nil
	if m.Homes != nil {
		p.lookLocked()
	}
	for key, s := range p.slots {
		if !s.dirty {
			continue
		}
		if len(m.Paints) == maxPaints {
			wakeUp(p.wake)
			break
		}
		m.Paints = append(m.Paints, s.take(key))
	}
	if m.Homes == nil && len(m.Paints) == 0 {
		return nil
	}
	p.n++
	return m
}

// lookLocked notes that somebody has the session before them that the page shows
// large. A hidden page shows none. Best effort: its Home may be one that can
// only be read.
func (p *page) lookLocked() {
	for key := range p.slots {
		if !key.large {
			continue
		}
		if s, err := p.server.hub.find(key.id); err == nil && s.Attention.State.NeedsPerson() {
			_ = s.Dir.Look(time.Now())
		}
	}
}

// send writes a message and limits the rate of the next.
func (p *page) send(ctx context.Context, m *told) error {
	limited, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if err := p.conn.Write(limited, websocket.MessageText, encode(m)); err != nil {
		return err
	}
	_ = poll.Pause(ctx, messageGap) // who awaits the next message sees that ctx has ended
	return nil
}

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
