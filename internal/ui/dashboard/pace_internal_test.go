package dashboard

import (
	"testing"
	"time"
)

// TestBudgetIsABound: after a burst, nobody reads more than the rate.
func TestBudgetIsABound(t *testing.T) {
	now := time.Unix(1000, 0)
	b := &budget{}
	if d := b.spend(budgetBurst, now); d != 0 {
		t.Errorf("the burst rests for %v", d)
	}
	if d := b.spend(budgetRate, now); d != time.Second {
		t.Errorf("what one second gives rests for %v", d)
	}
	if d := b.spend(budgetRate, now); d != 2*time.Second {
		t.Errorf("the next one rests for %v", d)
	}
	if d := b.spend(budgetRate, now.Add(time.Second)); d != 2*time.Second {
		t.Errorf("a second later: %v", d)
	}
	now = now.Add(time.Hour) // a rest is not saved up beyond the burst
	b.spend(budgetBurst, now)
	if d := b.spend(budgetRate, now); d != time.Second {
		t.Errorf("after an hour: %v", d)
	}
}

func TestPaceGathersWhatComesTooOften(t *testing.T) {
	const gap = 100 * time.Millisecond
	now := time.Unix(1000, 0)
	p := pace{budget: &budget{}, idle: now}
	// come is an event so long after the last was dealt with.
	come := func(after time.Duration) time.Duration {
		now = now.Add(after)
		p.begin(gap, now)
		rest, dear := p.end(10, gap, now)
		if dear {
			t.Fatal("ten bytes were dear")
		}
		now = now.Add(rest)
		p.idle = now
		return rest
	}
	if d := come(time.Second); d != 0 {
		t.Errorf("the first event rests for %v", d)
	}
	if d := come(30 * time.Millisecond); d != 70*time.Millisecond {
		t.Errorf("one that comes too soon rests for %v", d)
	}
	for range 20 { // those that gathered meanwhile
		if d := come(10 * time.Microsecond); d != 0 {
			t.Errorf("an event that was there rests for %v", d)
		}
	}
	if d := come(time.Millisecond); d < 90*time.Millisecond {
		t.Errorf("behind them: %v", d)
	}
	if d := come(time.Second); d != 0 {
		t.Errorf("after a rest: %v", d)
	}
}

func TestPacePaysForWhatItReads(t *testing.T) {
	now := time.Unix(1000, 0)
	b := &budget{paid: now} // the burst is spent
	p := pace{budget: b, idle: now}
	read := 0
	for now.Before(time.Unix(1002, 0)) {
		p.begin(time.Second, now)
		rest, _ := p.end(4096, time.Second, now)
		read += 4096
		now = now.Add(rest)
		p.idle = now
	}
	if read > 2*budgetRate || read < 2*budgetRate*8/10 {
		t.Errorf("%d MiB in two seconds", read>>20)
	}
}
