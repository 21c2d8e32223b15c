package lease

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/base/fault"

	coordination "k8s.io/api/coordination/v1"
)

// memory is a store that can be out of reach.
type memory struct {
	mu      sync.Mutex // guards the fields below
	lease   *coordination.Lease
	version int
	away    map[string]bool // for whom
}

// client is the store as one process reaches it.
type client struct {
	*memory
	of string
}

var errAway = errors.New("no route")

// reached locks the memory, and returns an error if it is out of reach.
func (c client) reached() (unlock func(), err error) {
	c.mu.Lock()
	if c.away[c.of] {
		c.mu.Unlock()
		return nil, fault.Errorf(fault.Unreachable, "%w", errAway)
	}
	return c.mu.Unlock, nil
}

func (c client) get(context.Context) (*coordination.Lease, error) {
	unlock, err := c.reached()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.lease == nil {
		return nil, fault.Errorf(fault.NotFound, "no lease")
	}
	return c.lease.DeepCopy(), nil
}

func (c client) create(_ context.Context, l *coordination.Lease) (*coordination.Lease, error) {
	unlock, err := c.reached()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c.lease != nil {
		return nil, fault.Errorf(fault.Busy, "there is one")
	}
	return c.store(l), nil
}

func (c client) update(_ context.Context, l *coordination.Lease) (*coordination.Lease, error) {
	unlock, err := c.reached()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if l.ResourceVersion != c.lease.ResourceVersion {
		return nil, fault.Errorf(fault.Busy, "it has changed")
	}
	return c.store(l), nil
}

func (c client) store(l *coordination.Lease) *coordination.Lease {
	c.version++
	c.lease = l.DeepCopy()
	c.lease.ResourceVersion = strconv.Itoa(c.version)
	return c.lease.DeepCopy()
}

// isolate makes the store out of reach for one process, or lets it reach it.
func (m *memory) isolate(who string, away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away[who] = away
}

func newMemory() *memory { return &memory{away: map[string]bool{}} }

func (m *memory) election(who string) *Election {
	return &Election{store: client{m, who}, identity: who}
}

func (m *memory) holder() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return holder(m.lease)
}

// wins waits until one of them holds the lease.
func wins(t *testing.T, e *Election) {
	t.Helper()
	if err := e.Win(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Of many only one holds the lease, and the next one only when that one has let
// go of it.
func TestOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		var mu sync.Mutex
		acting, turns := 0, 0
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				e := m.election(strconv.Itoa(i))
				if err := e.Win(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acting++
				turns++
				if acting != 1 {
					t.Errorf("%d hold the lease", acting)
				}
				mu.Unlock()
				holding, stop := context.WithTimeout(t.Context(), 3*Duration)
				defer stop()
				if err := e.Hold(holding); err != nil {
					t.Error(err)
				}
				mu.Lock()
				acting--
				mu.Unlock()
				if err := e.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if turns != 5 || m.holder() != "" {
			t.Errorf("%d held it, and now %q does", turns, m.holder())
		}
	})
}

// A holder that does not reach the API server stops before anybody else begins.
func TestLostBeforeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := m.election("a"), m.election("b")
		wins(t, a)
		var taken time.Time
		var next sync.WaitGroup
		next.Go(func() {
			if err := b.Win(t.Context()); err != nil {
				t.Error(err)
			}
			taken = time.Now()
		})
		var failing sync.WaitGroup
		failing.Go(func() {
			time.Sleep(4*Duration + Retry/2) // the bubble's clock
			m.isolate("a", true)
		})
		err := a.Hold(t.Context())
		lost := time.Now()
		failing.Wait()
		next.Wait()
		if fault.KindOf(err) != fault.Unreachable || !errors.Is(err, errAway) {
			t.Errorf("the holder was told: %v", err)
		}
		if margin := taken.Sub(lost); margin < Duration-RenewLimit {
			t.Errorf("the next one began %v after the last one had to stop", margin)
		}
		if err := b.Hold(expired(t)); err != nil {
			t.Error(err)
		}
		m.isolate("a", false)
		if held, err := a.try(t.Context()); held || err != nil {
			t.Errorf("back again it holds the lease: %v, %v", held, err)
		}
		if err := a.Release(t.Context()); err != nil || m.holder() != "b" {
			t.Errorf("it let go of what another holds (%q): %v", m.holder(), err)
		}
	})
}

// A short outage is no loss.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.election("a")
		wins(t, a)
		var outage sync.WaitGroup
		outage.Go(func() {
			time.Sleep(Retry / 2)
			m.isolate("a", true)
			time.Sleep(RenewLimit - 2*Retry)
			m.isolate("a", false)
		})
		holding, stop := context.WithTimeout(t.Context(), 4*Duration)
		defer stop()
		if err := a.Hold(holding); err != nil {
			t.Error(err)
		}
		outage.Wait()
	})
}

// Who finds that another holds the lease stops at once.
func TestTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.election("a")
		wins(t, a)
		other := "somebody"
		m.lease.Spec.HolderIdentity, m.lease.ResourceVersion = &other, "edited"
		begun := time.Now()
		if err := a.Hold(t.Context()); fault.KindOf(err) != fault.Busy {
			t.Errorf("the holder was told: %v", err)
		}
		if took := time.Since(begun); took > Retry {
			t.Errorf("it went on for %v", took)
		}
	})
}

// A process that is started again with its name need not wait for itself.
func TestStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		wins(t, m.election("a"))
		begun := time.Now()
		wins(t, m.election("a"))
		if took := time.Since(begun); took != 0 {
			t.Errorf("it waited %v", took)
		}
		if n := *m.lease.Spec.LeaseTransitions; n != 0 {
			t.Errorf("%d transitions", n)
		}
	})
}

// A write of somebody else between a look and a renewal is no loss.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := m.election("a")
		wins(t, a)
		old, err := client{m, "a"}.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (client{m, "x"}).update(t.Context(), old); err != nil { // such as an annotation
			t.Fatal(err)
		}
		if _, err := (client{m, "a"}).update(t.Context(), old); fault.KindOf(err) != fault.Busy {
			t.Fatalf("an old version was written: %v", err)
		}
		holding, stop := context.WithTimeout(t.Context(), Duration)
		defer stop()
		if err := a.Hold(holding); err != nil {
			t.Error(err)
		}
	})
}

// expired is a context that ends after one renewal.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Retry+time.Second)
	t.Cleanup(cancel)
	return ctx
}
