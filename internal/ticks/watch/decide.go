package watch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/ticks/plan"
)

// Observed is what is true of an instance, as far as it could be read.
type Observed struct {
	// Problem is why it could not be read, or "". Then nothing else counts:
	// whoever could not look begins no tick.
	Problem string
	Paused  string // why no tick may begin, or ""
	// Causes are the triggers, the wakes that are due and the notifications
	// that nobody has acknowledged. One tick takes all of them.
	Causes []plan.Cause
	// NextWake is when the next wake is due, zero if there is none.
	NextWake time.Time
	// Held says who runs a tick of the instance now, or "".
	Held string
}

// Decision is whether a tick begins now.
type Decision struct {
	Tick   bool
	Causes []plan.Cause // of the tick
	Why    string
	// Again is when to look again if nothing changes before; zero if only a
	// change matters.
	Again time.Time
}

// Policy has the times of the rule.
type Policy struct {
	// Patrol is how often is looked where nothing tells of a change.
	Patrol time.Duration
	// FirstRest and LongestRest are between ticks that fail.
	FirstRest   time.Duration
	LongestRest time.Duration
}

// heldPoll is how often a tick of another process is looked at: its end changes
// no file.
const heldPoll = time.Second

// DefaultPolicy is used by the command line.
var DefaultPolicy = Policy{Patrol: 30 * time.Second, FirstRest: 10 * time.Second, LongestRest: time.Hour}

// Decide is the rule. It consumes nothing: causes are acknowledged by the tick,
// when the agent has been told.
func Decide(o Observed, m Memory, p Policy, now time.Time) Decision {
	patrol := now.Add(p.Patrol)
	switch {
	case o.Problem != "":
		return Decision{Why: "could not look: " + o.Problem, Again: patrol}
	case o.Paused != "":
		return Decision{Why: "is paused: " + firstLine(o.Paused), Again: patrol}
	case o.Held != "":
		return Decision{Why: "a tick runs: " + o.Held, Again: now.Add(min(p.Patrol, heldPoll))}
	case len(o.Causes) == 0:
		return Decision{Why: sleeping(o.NextWake), Again: sooner(patrol, o.NextWake)}
	}
	if left := m.left(now); left > 0 {
		return Decision{Why: m.told(now.Add(left)), Again: now.Add(left)}
	}
	return Decision{Tick: true, Causes: o.Causes, Why: because(o.Causes)}
}

func sleeping(next time.Time) string {
	if next.IsZero() {
		return "sleeps: no wake is scheduled"
	}
	return "sleeps until " + next.Format(time.RFC3339)
}

// because names the causes in one line.
func because(causes []plan.Cause) string {
	counts := map[plan.CauseKind]int{}
	var parts []string
	for _, c := range causes {
		if counts[c.Kind]++; c.Kind != plan.ByNotification && c.Reason != "" {
			parts = append(parts, fmt.Sprintf("%s '%s'", c.Kind, firstLine(c.Reason)))
		} else if c.Kind != plan.ByNotification {
			parts = append(parts, string(c.Kind))
		}
	}
	switch n := counts[plan.ByNotification]; n {
	case 0:
	case 1:
		parts = append(parts, "a notification")
	default:
		parts = append(parts, fmt.Sprintf("%d notifications", n))
	}
	return strings.Join(parts, ", ")
}

// maxReason bounds what a line shows of a text that others wrote.
const maxReason = 200

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "…"
	}
	return line
}

// sooner is the earlier of two times, of which zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Memory is what is remembered from tick to tick.
type Memory struct {
	Failures int       `json:"failures,omitempty"` // in a row
	Ended    time.Time `json:"ended,omitzero"`     // the last tick
	// Rest is how long no tick begins after the last one.
	Rest time.Duration `json:"rest_ns,omitempty"`
	Why  string        `json:"why,omitempty"` // the last tick failed
}

// After is the memory after a tick. Only one that ended well forgives failures;
// one that somebody interrupted says nothing about the next.
func (m Memory) After(o plan.Outcome, p Policy, now time.Time) Memory {
	m.Ended = now
	switch o.Reason {
	case plan.Normal:
		return Memory{Ended: now}
	case plan.Interrupted:
		m.Rest = 0
		return m
	}
	m.Failures++
	m.Rest, m.Why = max(o.Rest, p.rest(m.Failures)), o.String()
	return m
}

// rest is how long to wait after failure n, from 1.
func (p Policy) rest(n int) time.Duration { return plan.Doubled(p.FirstRest, n-1, p.LongestRest) }

// left is how long no tick begins. A clock that was set back must not keep the
// agent asleep: then the rest is over.
func (m Memory) left(now time.Time) time.Duration {
	passed := now.Sub(m.Ended)
	if passed < 0 {
		return 0
	}
	return max(0, m.Rest-passed)
}

func (m Memory) told(until time.Time) string {
	times := "the last tick failed"
	if m.Failures > 1 {
		times = fmt.Sprintf("the last %d ticks failed", m.Failures)
	}
	return fmt.Sprintf("%s (%s); the next begins at %s", times, firstLine(m.Why), until.Local().Format(time.TimeOnly))
}

// Options make a Loop.
type Options struct {
	Policy Policy
	// Look reads the instance. It changes nothing.
	Look func() Observed
	// Changed tells that it makes sense to look again. A token that finds the
	// channel full is not needed: a look that is to come sees what it would
	// have told.
	Changed <-chan struct{}
	// Tick runs one tick to its end and returns how it ended. If somebody else
	// began one meanwhile, held is true and nothing was done.
	Tick func(ctx context.Context, causes []plan.Cause) (o plan.Outcome, held bool)
	// Recall reads what is remembered, which a tick by hand or a person changes,
	// too, and Remember records it. Errors are told, and do not stop the loop.
	Recall   func() (Memory, error)
	Remember func(Memory) error
	// Told hears each decision that differs from the one before, and errors.
	Told  func(string)
	Clock func() time.Time
}

// Loop looks, decides and ticks until the context ends. A tick that runs then
// ends by the same context.
func Loop(ctx context.Context, o Options) {
	var m Memory
	told, recorded := "", true
	for ctx.Err() == nil {
		if recorded {
			recalled, err := o.Recall()
			if err != nil {
				o.Told("recall how the last ticks ended: " + err.Error())
			}
			m = recalled
		}
		d := Decide(o.Look(), m, o.Policy, o.Clock())
		if d.Why != told {
			told = d.Why
			o.Told(d.Why)
		}
		if !d.Tick {
			await(ctx, o, d.Again)
			continue
		}
		outcome, held := o.Tick(ctx, d.Causes)
		if held {
			await(ctx, o, o.Clock().Add(o.Policy.Patrol))
			continue
		}
		told = "" // the next decision is told even if it is the same
		m = m.After(outcome, o.Policy, o.Clock())
		err := o.Remember(m)
		if recorded = err == nil; !recorded { // it counts all the same: a full disk must not hide failures
			o.Told("remember how the tick ended: " + err.Error())
		}
	}
}

// await returns when it makes sense to look again. It never waits longer than a
// patrol: a clock that is set, or a change that nobody told of, is found then.
func await(ctx context.Context, o Options, again time.Time) {
	wait := o.Policy.Patrol
	if !again.IsZero() {
		wait = min(wait, max(0, again.Sub(o.Clock())))
	}
	Await(ctx, o.Changed, wait)
}

// Await returns when something changed, after a time, or when the context ends.
func Await(ctx context.Context, changed <-chan struct{}, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
}
