package instance

import (
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// Tick is what belongs to a tick of the instance, and how it stands.
type Tick struct {
	history.Tick
	State TickState `json:"state"`
}

// TickState is how a tick stands, in a word.
type TickState string

// The states of ticks.
const (
	TickRuns   TickState = "running"
	TickEnded  TickState = "ended"   // Outcome says how
	TickCutOff TickState = "cut off" // its process was killed, and it is not completed
	TickLost   TickState = "unknown" // neither its end nor a process of it is known
)

// TickPage is a part of the ticks of an instance.
type TickPage struct {
	Ticks  []Tick `json:"ticks"`            // the newest first
	Before int    `json:"before,omitempty"` // where the older ones begin; 0: there are none
}

// maxLook bounds how many numbers are looked at for one page: there may be
// nothing of many of them, as in a repository that was cloned without its logs.
const maxLook = 2000

// Ticks returns up to n ticks before a number; 0 is from the newest on. Each is
// found by its number: the cost is that of the page.
func (i *Instance) Ticks(before, n int) (TickPage, error) {
	page := TickPage{Ticks: []Tick{}}
	now, err := i.current()
	if err != nil {
		return page, err
	}
	next := now.highest
	if before > 0 {
		next = min(next, before-1)
	}
	for looked := 0; next > 0 && len(page.Ticks) < n && looked < maxLook; next, looked = next-1, looked+1 {
		t, err := history.Read(i.Repo, next)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return page, err
		}
		page.Ticks = append(page.Ticks, Tick{t, now.stateOf(t)})
	}
	if next > 0 {
		page.Before = next + 1
	}
	return page, nil
}

// Tick returns one tick. One of which there is nothing is fault.NotFound.
func (i *Instance) Tick(number int) (Tick, error) {
	now, err := i.current()
	if err != nil {
		return Tick{}, err
	}
	t, err := history.Read(i.Repo, number)
	switch {
	case fault.KindOf(err) == fault.NotFound && now.highest == 0:
		return Tick{}, fault.Hintf(fault.Errorf(fault.NotFound, "'%s' has no tick %d: it has had none yet", i.Name, number), "'den kernel tick %s' runs one", i.Name)
	case fault.KindOf(err) == fault.NotFound && number > now.highest:
		return Tick{}, fault.Hintf(fault.Errorf(fault.NotFound, "'%s' has no tick %d: the last one is %d", i.Name, number, now.highest), "'den kernel replay %s' lists them", i.Name)
	case fault.KindOf(err) == fault.NotFound:
		return Tick{}, fault.Hintf(fault.Errorf(fault.NotFound, "tick %d of '%s': %w", number, i.Name, err), "'den kernel replay %s' lists those of which there is something", i.Name)
	case err != nil:
		return Tick{}, err
	}
	return Tick{t, now.stateOf(t)}, nil
}

// LastTick is the number of the last tick that has begun, 0 where there was
// none.
func (i *Instance) LastTick() (int, error) {
	now, err := i.current()
	return now.highest, err
}

// current is what tells ticks that run from those that were killed.
type current struct {
	highest int  // number
	tick    int  // that is recorded as not done, or 0
	held    bool // somebody runs a tick
}

// current asks for the lock first: a tick that ends between the two is done.
func (i *Instance) current() (current, error) {
	var c current
	_, held, err := watch.Held(i.Dir.TickLock())
	if err != nil {
		return c, err
	}
	c.held = held
	last, found, err := i.Dir.PeekTick()
	if err == nil && found {
		c.highest = last.Tick
		if last.Stage != plan.Done && last.Stage != plan.New {
			c.tick = last.Tick
		}
	}
	if c.tick > 0 && !c.held { // it may have begun between the two
		if _, c.held, err = watch.Held(i.Dir.TickLock()); err != nil {
			return c, err
		}
	}
	known, err := i.Repo.State()
	if err != nil { // damaged: the logs tell
		known.TickCount, err = i.Repo.HighestTick()
	}
	c.highest = max(c.highest, known.TickCount)
	return c, err
}

func (c current) stateOf(t history.Tick) TickState {
	switch {
	case t.Outcome.Reason != "" && (!t.Ended.IsZero() || !t.Completed.IsZero()):
		return TickEnded
	case t.Number == c.tick && c.held:
		return TickRuns
	case t.Number == c.tick:
		return TickCutOff
	}
	return TickLost
}

// Took is how long a tick took, or has taken, and whether that is known.
func (t Tick) Took(now time.Time) (time.Duration, bool) {
	if t.Began.IsZero() {
		return 0, false
	}
	until, known := t.Until()
	if t.State == TickRuns {
		until, known = now, true
	}
	return max(0, until.Sub(t.Began)), known
}
