package attention

import "time"

// Activity is what a program does. The values are stored: add, never rename.
type Activity string

// What a program does.
const (
	Unknown Activity = ""        // nobody can tell
	Waiting Activity = "waiting" // for input
	Working Activity = "working"
)

// Turn is how far a program is with what it was told. It is a plain value that
// is stored.
type Turn struct {
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

// Work returns the turn of a program that works now.
func (t Turn) Work(now time.Time) Turn {
	if t.Activity != Working {
		t.Activity, t.Since = Working, now
	}
	return t
}

// Rest returns the turn of a program that waits for input now.
func (t Turn) Rest(now time.Time, end End) Turn {
	if t.Activity != Waiting {
		t.Activity, t.Since = Waiting, now
	}
	switch end {
	case News:
		t.Over, t.Failure = now, ""
	case Taken:
		t.Over, t.Failure = time.Time{}, ""
	}
	return t
}

// Fail is Rest for a turn that failed and that nobody saw.
func (t Turn) Fail(now time.Time, why string) Turn {
	t = t.Rest(now, News)
	t.Failure = why
	return t
}
