package tui

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
)

// The messages that the pump sends into the loop.
type (
	listMsg  struct{ list *dashboard.Listing }
	frameMsg struct {
		id    string // of the session
		frame *dashboard.Frame
		err   error // io.EOF: the frame before was the last
	}
	lineMsg struct {
		id   string
		line *dashboard.Timeline
		err  error
	}
	pastMsg struct {
		visit int
		frame *dashboard.Frame
		moved bool // the last move led somewhere
		err   error
	}
)

// pump does what takes time.
type pump struct {
	model *dashboard.Model
	live  slot[home.Dir] // whom to follow; one without a path: nobody
	line  slot[home.Dir] // whose timeline to read
	past  scrubs
	// inView has room for the newest: the sessions in the list, by their ids.
	inView chan map[string]home.Dir
	work   sync.WaitGroup
}

func newPump(m *dashboard.Model) *pump {
	return &pump{model: m, live: newSlot[home.Dir](), line: newSlot[home.Dir](), past: newScrubs(), inView: make(chan map[string]home.Dir, 1)}
}

// start begins the work; wait returns when it has ended, after ctx has.
func (p *pump) start(ctx context.Context, send func(tea.Msg)) {
	p.work.Go(func() {
		for l := range p.model.Watch(ctx) {
			send(listMsg{l})
		}
	})
	p.work.Go(func() { p.follow(ctx, send) })
	p.work.Go(func() { p.readTimelines(ctx, send) })
	p.work.Go(func() { p.scrub(ctx, send) })
	p.work.Go(func() { p.glance(ctx, send) })
}

func (p *pump) wait() { p.work.Wait() }

// follow sends the screens of the requested session until another is requested.
func (p *pump) follow(ctx context.Context, send func(tea.Msg)) {
	d, ok := p.live.take(ctx)
	for ok {
		this, leave := context.WithCancel(ctx)
		var next home.Dir
		changed := make(chan bool, 1)
		p.work.Go(func() {
			var ok bool
			next, ok = p.live.take(ctx)
			changed <- ok
			leave()
		})
		if d.Path != "" {
			p.show(this, d, send)
		}
		ok = <-changed
		d = next
	}
}

// show sends the screens of one session until ctx ends or it is over.
func (p *pump) show(ctx context.Context, d home.Dir, send func(tea.Msg)) {
	v := p.model.Live(d)
	defer v.Close()
	for {
		f, err := v.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		send(frameMsg{d.ID, f, err})
		if err != nil {
			return
		}
	}
}

// lineCost is how many times longer than the reading of a timeline the pause
// is before the same one is read again: reading takes at most a twentieth of a
// processor.
const lineCost = 19

func (p *pump) readTimelines(ctx context.Context, send func(tea.Msg)) {
	var last home.Dir
	var again time.Time // when last may be read again
	for {
		d, ok := p.line.take(ctx)
		if ok && d == last {
			d, ok = p.line.takeBefore(ctx, again, d)
		}
		if !ok {
			return
		}
		begun := time.Now()
		line, err := p.model.Timeline(ctx, dashboard.Of(d))
		if errors.Is(err, context.Canceled) {
			return
		}
		send(lineMsg{d.ID, line, err})
		last, again = d, time.Now().Add(lineCost*time.Since(begun))
	}
}

// over reports whether a view has shown its last screen.
func over(err error) bool { return err == io.EOF }

// slot holds the newest request; older ones that nobody took are dropped.
type slot[T comparable] struct{ c chan T }

func newSlot[T comparable]() slot[T] { return slot[T]{make(chan T, 1)} }

// put is for one goroutine: the loop's.
func (s slot[T]) put(v T) {
	select {
	case <-s.c:
	default:
	}
	s.c <- v // room: nobody else puts
}

// take waits for a request; false when ctx ended.
func (s slot[T]) take(ctx context.Context) (v T, ok bool) {
	select {
	case <-ctx.Done():
		return v, false
	case v = <-s.c:
		return v, true
	}
}

// takeBefore waits until a time for a request other than v, and then returns v.
func (s slot[T]) takeBefore(ctx context.Context, until time.Time, v T) (T, bool) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return v, false
		case other := <-s.c:
			if other != v {
				return other, true
			}
		case <-t.C:
			return v, true
		}
	}
}
