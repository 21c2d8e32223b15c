package runner

import (
	"testing"
	"time"
)

// The rows are steps in time: what happens, and whether the breaker is open
// and lets a start through afterwards.
func TestBreaker(t *testing.T) {
	b := DefaultBreaker()
	begin := time.Unix(1e9, 0)
	for i, row := range []struct {
		at    time.Duration
		do    string
		open  bool
		start bool
	}{
		{0, "", false, true},
		{0, "fail", false, true},
		{100 * time.Second, "fail", false, true},
		{301 * time.Second, "fail", false, true}, // the first is forgotten
		{302 * time.Second, "fail", true, false},
		{500 * time.Second, "", true, false},
		{603 * time.Second, "", false, true},  // half open: one try
		{604 * time.Second, "", false, false}, // which is under way
		{605 * time.Second, "fail", true, false},
		{906 * time.Second, "", false, true},
		{907 * time.Second, "succeed", false, true},
		{908 * time.Second, "fail", false, true},
	} {
		now := begin.Add(row.at)
		switch row.do {
		case "fail":
			b.Fail(now)
		case "succeed":
			b.Succeed()
		}
		if b.Open(now) != row.open {
			t.Errorf("row %d: open %v", i, !row.open)
		}
		if b.Try(now) != row.start {
			t.Errorf("row %d: start %v", i, !row.start)
		}
	}
}

// An agent whose session lives on needs no start: what it fails at after the
// window opens the breaker again.
func TestBreakerOfALivingAgent(t *testing.T) {
	b := DefaultBreaker()
	begin := time.Unix(1e9, 0)
	for i := range 3 {
		b.Fail(begin.Add(time.Duration(i) * time.Second))
	}
	later := begin.Add(400 * time.Second)
	if b.Open(later) {
		t.Fatal("it is open for longer than its window")
	}
	if b.Fail(later) {
		t.Error("it is told to have opened twice")
	}
	if !b.Open(later.Add(299*time.Second)) || b.Open(later.Add(301*time.Second)) || !b.Since().Equal(later) {
		t.Errorf("open since %v", b.Since())
	}
}

// A try that ends in what is not the agent's fault is followed by another.
func TestTryThatTellsNothing(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := &Runner{
		config:  Config{Driver: named{}, Listener: deaf{}, Clock: func() time.Time { return now }, Options: Options{Log: func(string) {}}},
		breaker: Breaker{Limit: 1, Window: time.Minute},
	}
	r.fail(&Failure{Class: Gone})
	if r.breaker.Try(now) {
		t.Fatal("it is not open")
	}
	now = now.Add(2 * time.Minute)
	for range 3 {
		if !r.breaker.Try(now) {
			t.Fatal("no try is let through")
		}
		r.fail(&Failure{Class: Auth})
	}
	r.breaker.Try(now)
	r.fail(&Failure{Class: Gone})
	if !r.breaker.Open(now) {
		t.Error("a try that failed does not open it")
	}
}

type named struct{ Driver }

func (named) Name() string { return "named" }

// deaf is a Listener that takes only what this test needs.
type deaf struct{ Listener }

func (deaf) GaveUp(*Failure, time.Time) {}
