// Package attention decides which sessions and agents need a person: one state
// for each, from what is known of it.
//
// It reads and keeps nothing. Hosts and keepers write a [Note] beside each
// session; whoever shows a session or an agent gathers [Facts] and calls [Of].
// [Queue] lists what needs a person.
package attention

import (
	"cmp"
	"slices"
	"time"
)

// State is what a session or an agent needs of a person. The values are sent
// as JSON: add, never rename.
type State string

// The states. The first three need a person, the others do not.
const (
	Asking State = "asking" // it waits for an answer
	Failed State = "failed" // it failed, and nobody has looked yet or somebody must repair it
	Done   State = "done"   // its turn is over, or it has ended, and nobody has looked yet
	Busy   State = "busy"   // it works, or nobody can tell
	Ready  State = "ready"  // it waits for input
	Over   State = "over"   // it has ended
)

// States lists them, what needs a person most first.
func States() []State { return []State{Asking, Failed, Done, Busy, Ready, Over} }

// NeedsPerson reports whether somebody has to look or to act.
func (s State) NeedsPerson() bool { return s == Asking || s == Failed || s == Done }

// Attention is a state with its reason.
type Attention struct {
	State State     `json:"state"`
	Since time.Time `json:"since,omitzero"` // or zero where it is not known
	// What is the question, or how it failed; Options are answers to it.
	What    string   `json:"what,omitempty"`
	Options []string `json:"options,omitempty"`
	// Source is what it is known from: "host", "cell", "claude session file".
	Source string `json:"source,omitempty"`
}

// Facts is what is known of a session or an agent.
type Facts struct {
	Note   Note
	Source string // of Note and Question

	Question *Question // that is asked now, or nil
	Broken   *Event    // what only a person can repair, or nil; to look is not enough
	Ended    *Ending   // or nil while it runs

	Looked time.Time // when somebody last looked at it, or zero
}

// Question is what a session or an agent asks.
type Question struct {
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Asked   time.Time `json:"asked,omitzero"` // or zero where it is not known
}

// Event is something that happened, for people.
type Event struct {
	At   time.Time
	What string
}

// Ending is how a program ended.
type Ending struct {
	At      time.Time
	Failure string // or empty: it ended well
	// Known says that somebody ended it, or that nobody noted enough to call it
	// news.
	Known bool
}

// Of is the rule.
func Of(f Facts) Attention {
	unseen := func(at time.Time) bool { return !at.IsZero() && f.Looked.Before(at) }
	switch e, q := f.Ended, f.Question; {
	case f.Broken != nil:
		return Attention{State: Failed, Since: f.Broken.At, What: f.Broken.What, Source: f.Source}
	case e != nil && (e.Known || !unseen(e.At)):
		return Attention{State: Over, Since: e.At, What: e.Failure}
	case e != nil && e.Failure != "":
		return Attention{State: Failed, Since: e.At, What: e.Failure}
	case e != nil:
		return Attention{State: Done, Since: e.At}
	case q != nil:
		return Attention{State: Asking, Since: q.Asked, What: q.Text, Options: q.Options, Source: f.Source}
	}
	n := f.Note
	a := Attention{State: Ready, Since: n.Since, Source: f.Source}
	switch {
	case n.Activity != Waiting:
		a.State = Busy
	case unseen(n.Over) && n.Failure != "":
		a.State, a.Since, a.What = Failed, n.Over, n.Failure
	case unseen(n.Over):
		a.State, a.Since = Done, n.Over
	}
	return a
}

// Activity is what a program does. The values are stored: add, never rename.
type Activity string

// What a program does.
const (
	Unknown Activity = ""        // nobody can tell
	Waiting Activity = "waiting" // for input
	Working Activity = "working"
)

// Note is how far a program is seen to be with what it was told. It is a plain
// value that is stored.
type Note struct {
	Activity Activity  `json:"activity,omitempty"`
	Since    time.Time `json:"since,omitzero"` // of the activity
	// Over is when the last turn ended of whose end nobody was told; zero for
	// none. Failure is how that turn failed, or empty.
	Over    time.Time `json:"over,omitzero"`
	Failure string    `json:"failure,omitempty"`
}

// End says whose the end of a turn is.
type End int

// The ends of turns.
const (
	// Idle is not the end of a turn: nobody had asked for anything, the program
	// did something by itself. What ended before is as it was.
	Idle End = iota
	// Taken is the end of a turn whose caller was told, or watched.
	Taken
	// News is the end of a turn that nobody saw.
	News
)

// Work returns the note of a program that works now.
func (n Note) Work(now time.Time) Note {
	if n.Activity != Working {
		n.Activity, n.Since = Working, now
	}
	return n
}

// Rest returns the note of a program that waits for input now.
func (n Note) Rest(now time.Time, end End) Note {
	if n.Activity != Waiting {
		n.Activity, n.Since = Waiting, now
	}
	switch end {
	case News:
		n.Over, n.Failure = now, ""
	case Taken:
		n.Over, n.Failure = time.Time{}, ""
	}
	return n
}

// Fail is Rest after a turn that failed and that nobody saw.
func (n Note) Fail(now time.Time, why string) Note {
	n = n.Rest(now, News)
	n.Failure = why
	return n
}

// Item is a session or an agent with its state.
type Item struct {
	ID string // differs between all items
	Attention
}

// Queue returns the items that need a person, what waits longest first. Items
// that wait for an unknown time are last.
func Queue(items []Item) []Item {
	queue := []Item{}
	for _, i := range items {
		if i.State.NeedsPerson() {
			queue = append(queue, i)
		}
	}
	slices.SortStableFunc(queue, longestFirst)
	return queue
}

func longestFirst(a, b Item) int {
	if x, y := a.Since.IsZero(), b.Since.IsZero(); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
}

// Counts counts the states.
func Counts(items []Item) map[State]int {
	n := map[State]int{}
	for _, i := range items {
		n[i.State]++
	}
	return n
}
