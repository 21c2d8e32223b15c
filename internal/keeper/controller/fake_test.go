package controller

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/provider"
)

// place is where the tests' agents run. It outlives controllers, counts how
// many copies of a session run, and can misbehave.
type place struct {
	mu       sync.Mutex
	running  map[string]int // sessions and how many copies
	print    map[string]string
	exits    map[string]int
	ended    string // why the place itself ended sessions, or ""
	most     int    // copies of one session at one time, ever
	starts   int
	seen     map[string]int // how often who ended a session knew of its end
	looks    int            // calls of Running
	fail     error          // of Start
	blind    error          // of Running
	deaf     bool           // does not end on an interrupt
	held     string
	drained  bool
	watchers []func(string)
	left     map[string]bool // ended by itself, and something of it is still there
	peeked   func()          // called by Peek, or nil
	partial  map[string]bool // its start was cut off
	hang     chan struct{}   // Start sends to it and hangs until its context ends; or nil
	pulling  chan struct{}   // Start gives its slot back, sends to it and waits for pulled; or nil
	pulled   chan struct{}
}

func newPlace() *place {
	return &place{running: map[string]int{}, print: map[string]string{}, exits: map[string]int{}, seen: map[string]int{}, left: map[string]bool{}}
}

func (p *place) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *place) started() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// die ends a session behind the controller's back.
func (p *place) die(session string, code int) {
	p.mu.Lock()
	p.running[session] = 0
	p.exits[session] = code
	p.left[session] = true
	watchers := p.watchers
	p.mu.Unlock()
	for _, w := range watchers {
		w(session)
	}
}

type fakeAgent struct {
	*place
	name, print string
}

// Key is the name without its directory.
func (a fakeAgent) Key() string { return path.Base(a.name) }

func (a fakeAgent) Name() string     { return a.name }
func (a fakeAgent) Session() string  { return "s-" + a.name }
func (a fakeAgent) Provider() string { return "fake" }
func (a fakeAgent) Place() string    { return fmt.Sprintf("%p", a.place) }

func (a fakeAgent) Identity() string { return a.print }

func (a fakeAgent) Running(context.Context) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	return a.running[a.Session()] > 0, a.blind
}

func (a fakeAgent) Seen(time.Time) error {
	a.set(func() { a.seen[a.Session()]++ })
	return nil
}

func (a fakeAgent) Start(ctx context.Context, slot *Slot) error {
	a.mu.Lock()
	hang, pulling := a.hang, a.pulling
	a.starts++
	a.mu.Unlock()
	if hang != nil {
		hang <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	if pulling != nil {
		slot.GiveBack()
		pulling <- struct{}{}
		<-a.pulled
		if err := slot.Take(ctx); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.partial[a.Session()]:
		delete(a.partial, a.Session())
		return nil
	case a.fail != nil:
		return a.fail
	case a.running[a.Session()] > 0:
		return fault.Errorf(fault.Busy, "it runs")
	}
	a.running[a.Session()]++
	a.most = max(a.most, a.running[a.Session()])
	a.place.print[a.Session()] = a.print
	return nil
}

func (a fakeAgent) StartUnfinished(context.Context) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.partial[a.Session()], nil
}

func (a fakeAgent) Stop(context.Context) error {
	a.set(func() {
		a.running[a.Session()] = 0
		delete(a.left, a.Session())
	})
	return nil
}

func (a fakeAgent) Interrupt(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.deaf {
		a.running[a.Session()] = 0
	}
	return nil
}

func (a fakeAgent) Drift(context.Context) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.place.print[a.Session()] != a.print {
		return []string{"command"}, nil
	}
	return nil, nil
}

func (a fakeAgent) Held(context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held, nil
}

func (a fakeAgent) Drain(context.Context, string) error { return nil }
func (a fakeAgent) Undrain(context.Context) error       { return nil }
func (a fakeAgent) Drained(context.Context) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.drained, nil
}
func (a fakeAgent) LastWrite(context.Context) (time.Time, error) { return time.Time{}, nil }
func (a fakeAgent) Ready(context.Context) bool                   { return true }
func (a fakeAgent) Exit(context.Context) (*provider.Exit, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &provider.Exit{Code: a.exits[a.Session()], Place: a.place.ended}, nil
}
func (a fakeAgent) LastText(context.Context, int) (string, error) {
	a.mu.Lock()
	peeked := a.peeked
	a.mu.Unlock()
	if peeked != nil {
		peeked()
	}
	return "last words", nil
}

// keep runs a controller until the test or stop ends it.
func keep(t *testing.T, dir string, p *place, members ...Member) (c *Controller, end func()) {
	t.Helper()
	c, err := Open(Options{State: filepath.Join(dir, "state.json"), Events: filepath.Join(dir, "events.jsonl"), Jitter: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.watchers = []func(string){c.Ended} })
	c.Apply(members)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			<-done
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return c, end
}

func quick() Policy {
	p := DefaultPolicy
	p.Backoff, p.BackoffMax = time.Millisecond, 4*time.Millisecond
	p.Quarantine, p.QuarantineMax = 40*time.Millisecond, 80*time.Millisecond
	p.ShutdownTimeout = 10 * time.Millisecond
	return p
}

func member(p *place, name, print string) Member {
	return Member{Subject: fakeAgent{p, name, print}, Policy: quick(), Run: true}
}

// until waits for an agent's status.
func until(t *testing.T, c *Controller, name string, cond func(keeper.AgentStatus) bool) keeper.AgentStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	w, err := c.find(name)
	if err != nil {
		t.Fatal(err)
	}
	for {
		s, changed := w.current()
		if cond(s) {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s stays %+v", name, s)
		}
	}
}

func is(actual string) func(keeper.AgentStatus) bool {
	return func(s keeper.AgentStatus) bool { return s.Actual == actual }
}

// obey gives an order and waits until it is carried out.
func obey(ctx context.Context, c *Controller, key, order string) error {
	settled, err := c.Order(key, order)
	if err != nil {
		return err
	}
	return settled(ctx)
}

// types returns the types of an agent's events, and checks that the numbers
// of all have no gap.
func types(t *testing.T, c *Controller, agent string) []string {
	t.Helper()
	var got []string
	next := uint64(1)
	err := c.Events(context.Background(), 0, "", false, func(e keeper.Event) error {
		if e.Seq != next {
			return fmt.Errorf("event %d follows %d", e.Seq, next-1)
		}
		next++
		if e.Agent == agent {
			got = append(got, e.Type)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var errBlind = errors.New("no answer")
