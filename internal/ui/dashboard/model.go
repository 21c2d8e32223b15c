package dashboard

import (
	"context"
	"runtime"
	"sync"
	"time"

	"den/internal/session/home"
)

// Options is what a model is made with.
type Options struct {
	Registry home.Registry // which Homes there are; may be empty
	Home     home.Home     // the own one: always listed, and first
	FPS      int           // frames a second that a followed session gives at most; 0 means 30
}

// Model is the read model. It is safe for concurrent use.
type Model struct {
	registry home.Registry
	home     home.Home
	interval time.Duration // between two frames of a session

	ctx    context.Context // ends the followers
	cancel context.CancelFunc
	work   sync.WaitGroup // the followers

	past      past
	timelines timelines
	budget    budget
	search    chan struct{} // one token: searches wait for each other
	begin     chan struct{} // a token for each log whose end may be looked for at a time

	mu      sync.Mutex        // guards the fields below
	records map[string]record // of sessions that are over, by directory
	feeds   map[string]*feed  // by directory
	closed  bool
}

// New returns a model. It starts nothing until somebody follows a session.
func New(o Options) *Model {
	if o.FPS <= 0 {
		o.FPS = 30
	}
	ctx, cancel := context.WithCancel(context.Background())
	begin := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) // the others wait: half the machine is not ours
	for range cap(begin) {
		begin <- struct{}{}
	}
	search := make(chan struct{}, 1)
	search <- struct{}{}
	return &Model{
		search:   search,
		registry: o.Registry, home: o.Home, interval: time.Second / time.Duration(o.FPS),
		ctx: ctx, cancel: cancel, begin: begin,
		records: map[string]record{}, feeds: map[string]*feed{},
	}
}

// Close stops all followers and waits for them. Open views return
// context.Canceled.
func (m *Model) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}
