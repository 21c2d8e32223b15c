package instance

import (
	"context"
	"errors"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/watch"
)

// Status is what an instance does.
type Status struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Remote string `json:"remote,omitempty"`

	State  State         `json:"state"`
	Why    string        `json:"why"`              // it is in that state
	Paused string        `json:"paused,omitempty"` // what the file says
	Held   *watch.Holder `json:"held,omitempty"`   // who runs its tick
	Watch  *watch.Holder `json:"watch,omitempty"`  // who watches it

	Tick     int          `json:"tick"` // the last that has begun
	Last     *Last        `json:"last,omitempty"`
	Doing    string       `json:"doing,omitempty"` // of the tick that runs
	Waiting  []plan.Cause `json:"waiting,omitempty"`
	NextLook time.Time    `json:"next,omitzero"` // when something may be due
	Failures int          `json:"failures,omitempty"`
	Problem  string       `json:"problem,omitempty"` // what could not be read

	Container *Container `json:"container,omitempty"` // or nil: it lives on this machine
}

// Last is the last tick that was recorded.
type Last struct {
	Tick    int          `json:"tick"`
	Began   time.Time    `json:"began"`
	Stage   plan.Stage   `json:"stage"`
	Outcome plan.Outcome `json:"outcome,omitzero"`
	Status  string       `json:"status,omitempty"` // "normal" or "abnormal"
	Turns   int          `json:"turns"`
	CostUSD float64      `json:"cost_usd,omitempty"`
	Text    string       `json:"text,omitempty"` // the last words of the agent
}

// State is what an instance does, in a word.
type State string

// The states.
const (
	Ticking State = "ticking"
	Pausing State = "paused"
	Asleep  State = "asleep"  // a watcher wakes it
	Resting State = "resting" // after a failure
	Waking  State = "waking"  // a watcher is about to begin a tick
	Idle    State = "idle"    // nobody watches it
	CutOff  State = "cut off" // its last tick was killed and is not completed
	Unknown State = "unknown"
)

// Status reads what the instance does. It changes nothing.
func (i *Instance) Status(ctx context.Context, now time.Time) (Status, error) {
	s := Status{Name: i.Name, Path: i.Repo.Path(), Remote: i.Remote}
	seen, problem := i.Look(ctx, now)
	if problem != nil {
		s.Problem = problem.Error()
	}
	s.Paused, s.Waiting, s.NextLook = seen.Paused, seen.Causes, seen.NextWake
	var err error
	if s.Held, err = holderOf(i.Dir.TickHolder()); err != nil {
		return s, err
	}
	if s.Watch, err = holderOf(i.Dir.WatchHolder()); err != nil {
		return s, err
	}
	if _, err := i.Repo.Config(); err != nil && s.Watch != nil && len(seen.Causes) > 0 {
		seen.Problem, s.Problem = err.Error(), err.Error() // the watcher waits for it to be mended
	}
	last, found, err := i.Dir.PeekTick()
	if err != nil {
		s.Problem = err.Error()
	}
	if found {
		s.Tick = last.Tick
		s.Last = &Last{Tick: last.Tick, Began: last.Began, Stage: last.Stage, Outcome: last.Outcome, Turns: last.Turns, CostUSD: last.CostUSD, Text: last.LastText}
		if last.Outcome.Reason != "" {
			s.Last.Status = last.Outcome.Status()
		}
	}
	if known, err := i.Repo.State(); err == nil {
		s.Tick = max(s.Tick, known.TickCount)
	}
	m, err := i.Dir.PeekMemory()
	if err != nil {
		s.Problem = err.Error()
	}
	s.Failures = m.Failures
	if s.Container, err = i.container(); err != nil {
		s.Problem = err.Error()
	}
	if s.Held != nil {
		if live, err := i.Repo.LiveStatus(); err == nil && live != nil {
			s.Doing = live.Status
		}
	}
	s.State, s.Why = stateOf(s, watch.Decide(seen, m, watch.DefaultPolicy, now))
	return s, nil
}

func stateOf(s Status, d watch.Decision) (State, string) {
	switch {
	case s.Held != nil:
		return Ticking, s.Held.String()
	case s.Paused != "":
		return Pausing, d.Why
	case s.Last != nil && s.Last.Stage != plan.Done && s.Last.Stage != plan.New:
		return CutOff, "the next tick, or a watcher, completes it"
	case s.Problem != "" && s.Watch == nil:
		return Unknown, s.Problem
	case s.Watch == nil && len(s.Waiting) > 0:
		return Idle, "nobody watches it; waiting: " + d.Why
	case s.Watch == nil:
		return Idle, "nobody watches it"
	case d.Tick:
		return Waking, d.Why
	case len(s.Waiting) > 0:
		return Resting, d.Why
	}
	return Asleep, d.Why
}

// Watched reports whether a process has the instance wake by itself.
func (i *Instance) Watched() (bool, error) {
	_, held, err := i.Dir.WatchHolder()
	return held, err
}

func holderOf(h watch.Holder, held bool, err error) (*watch.Holder, error) {
	if err != nil || !held {
		return nil, err
	}
	return &h, nil
}

// Look reads what may begin a tick. It consumes nothing. What of it cannot be
// read is the error, beside the rest.
func (i *Instance) Look(ctx context.Context, now time.Time) (watch.Observed, error) {
	text, paused, err := i.Repo.Paused()
	if err != nil {
		return watch.Observed{Problem: err.Error()}, nil
	}
	var seen watch.Observed
	if paused {
		seen.Paused = "there is a file system/paused"
		if text != "" {
			seen.Paused = whyPaused(text)
		}
	}
	problems := []error{i.lookForTrigger(now, &seen), i.lookForWakes(ctx, now, &seen), i.lookForNotifications(now, &seen)}
	holder, held, err := i.Dir.TickHolder()
	if held {
		seen.Held = holder.String()
	}
	return seen, errors.Join(append(problems, err)...)
}

// whyPaused is the reason in the text of a pause, or all of it where somebody
// else wrote it.
func whyPaused(text string) string {
	for line := range strings.Lines(text) {
		if why, ok := strings.CutPrefix(line, "Why: "); ok {
			return strings.TrimSpace(why)
		}
	}
	return text
}

func (i *Instance) lookForTrigger(now time.Time, seen *watch.Observed) error {
	trigger, again, err := i.Repo.Trigger(now)
	if trigger != nil {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByTrigger, ID: trigger.ID, Reason: trigger.Reason})
	}
	lookAgain(seen, now, again)
	return err
}

func (i *Instance) lookForWakes(ctx context.Context, now time.Time, seen *watch.Observed) error {
	wakes, err := i.Wakes.Look(ctx, now)
	for _, d := range wakes.Due {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByWake, ID: d.ID, Reason: d.Reason})
	}
	if !wakes.Next.IsZero() {
		lookAgain(seen, now, max(1, wakes.Next.Sub(now)))
	}
	return errors.Join(append(wakes.Problems, err)...)
}

func (i *Instance) lookForNotifications(now time.Time, seen *watch.Observed) error {
	in, err := i.Repo.Notifications(now)
	for _, n := range in.Ready {
		seen.Causes = append(seen.Causes, plan.Cause{Kind: plan.ByNotification, ID: n.ID})
	}
	lookAgain(seen, now, in.Again)
	return errors.Join(append(in.Problems, err)...)
}

// lookAgain notes that there may be a cause after some time; 0 is never.
func lookAgain(seen *watch.Observed, now time.Time, after time.Duration) {
	if at := now.Add(after); after > 0 && (seen.NextWake.IsZero() || at.Before(seen.NextWake)) {
		seen.NextWake = at
	}
}

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
