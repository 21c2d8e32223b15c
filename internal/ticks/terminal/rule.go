package terminal

import (
	"slices"
	"time"
)

// Times of wait. What the kernel tells comes first; they are for what it does
// not tell.
const (
	// silence ends a wait for a program of which nobody knows whether it waits
	// for input.
	silence = 1500 * time.Millisecond
	// gatherLimit is how long a program that prints and goes on is listened to,
	// where nothing else is said.
	gatherLimit = 10 * time.Second
	// headStart is the same for output that the agent could have been told
	// before: it is told at once, but a program that is about to be done may end.
	headStart = 300 * time.Millisecond
	// youth is how long output counts as one that the wait was called for: an
	// agent that types and waits in one go misses the first of it.
	youth = time.Second
)

// observed is what a wait knows of one terminal.
type observed struct {
	ended   bool          // and the agent was not told
	matched bool          // what the agent waits for was printed
	due     bool          // there is output that the agent has not seen, or keystrokes whose effect it has not
	more    bool          // there is such output, besides the echo of keystrokes
	age     time.Duration // since there is
	rest    rest
}

// Why a wait ended.
const (
	ReasonExit        = "exit"        // a program ended
	ReasonMatch       = "match"       // what was waited for was printed
	ReasonReady       = "ready"       // a program waits for input
	ReasonSilence     = "silence"     // a program prints nothing more, and nobody knows whether it waits
	ReasonOutput      = "output"      // there is output, and its program goes on
	ReasonTimeout     = "timeout"     // time is up
	ReasonInterrupted = "interrupted" // a notification came
)

// waitRule decides when a wait ends. It is a pure function of what is observed
// and of time, but for when it first observed output.
type waitRule struct {
	until  bool // something is waited for
	all    bool // all terminals must be at rest, as at login
	begun  time.Time
	limit  time.Duration
	gather time.Duration // how long a program that prints and goes on is listened to

	begins bool      // nothing was observed yet
	early  bool      // there was output at the beginning, and not only just
	since  time.Time // when there was output first; or zero
}

// decide returns why the wait ends, or "" and the time after which it must
// look again if nothing happens before.
func (r *waitRule) decide(now time.Time, terminals []observed) (why string, again time.Duration) {
	has := func(f func(observed) bool) bool { return slices.ContainsFunc(terminals, f) }
	if r.since.IsZero() && has(func(o observed) bool { return o.more }) {
		r.since = now
		r.early = r.begins && has(func(o observed) bool { return o.more && o.age >= youth })
	}
	r.begins = false
	switch {
	case r.all:
		if !has(func(o observed) bool { return o.due && !o.ended && o.rest == working }) {
			return ReasonReady, 0
		}
	case has(func(o observed) bool { return o.ended }):
		return ReasonExit, 0
	case has(func(o observed) bool { return o.matched }):
		return ReasonMatch, 0
	case has(func(o observed) bool { return o.due && o.rest == waiting }):
		return ReasonReady, 0
	case !r.until && has(func(o observed) bool { return o.due && o.rest == silent }):
		return ReasonSilence, 0
	}
	end, late := r.begun.Add(r.limit), ReasonTimeout
	if gathered := r.since.Add(r.listens()); !r.until && !r.all && !r.since.IsZero() && gathered.Before(end) {
		end, late = gathered, ReasonOutput
	}
	if left := end.Sub(now); left > 0 {
		return "", left
	}
	return late, 0
}

func (r *waitRule) listens() time.Duration {
	if r.early {
		return headStart
	}
	return r.gather
}
