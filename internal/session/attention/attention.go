// Package attention decides which sessions and agents need a person: one state
// for each, from what is known of it.
//
// It reads and keeps nothing. Hosts and keepers write a [Turn] beside each
// session; whoever shows a session or an agent gathers [Facts] and calls [Of].
// [Queue] lists what needs a person.
package attention

import "time"

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
	Turn   Turn
	Source string // of Turn and Question

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
	t := f.Turn
	a := Attention{State: Ready, Since: t.Since, Source: f.Source}
	switch {
	case t.Activity != Waiting:
		a.State = Busy
	case unseen(t.Over) && t.Failure != "":
		a.State, a.Since, a.What = Failed, t.Over, t.Failure
	case unseen(t.Over):
		a.State, a.Since = Done, t.Over
	}
	return a
}
