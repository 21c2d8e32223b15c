package runner

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A Failure is why a turn or a session could not be, as far as the protocol's
// own fields tell. Its class decides what happens next.
type Failure struct {
	Class      Class
	Message    string        // what the agent or its vendor said
	RetryAfter time.Duration // of Quota and Overload, where it was said; else 0
}

// Class groups failures by what helps. The values are stored and sent: add,
// never rename.
type Class string

// The classes of failures.
const (
	Auth      Class = "auth"       // a person must log in or give a key
	Quota     Class = "quota"      // used up for a while
	Billing   Class = "billing"    // a person must pay, or choose another account
	Overload  Class = "overload"   // the vendor is busy or its network is: try again
	Context   Class = "context"    // the conversation is too long
	NoSession Class = "no_session" // the session to resume is not there
	Bug       Class = "bug"        // the agent or the protocol failed otherwise
	Gone      Class = "gone"       // the process ended within the turn
	Silent    Class = "silent"     // nothing came for too long
)

func (f *Failure) Error() string {
	if f.Message == "" {
		return string(f.Class)
	}
	return fmt.Sprintf("%s: %s", f.Class, f.Message)
}

// WithAdvice is the failure and what a person can do.
func (f *Failure) WithAdvice() string { return f.Error() + " (" + f.Advice() + ")" }

// Advice says what a person can do.
func (f *Failure) Advice() string {
	switch f.Class {
	case Auth:
		return "log the agent in, or set its key, and restart it"
	case Billing:
		return "see to the account's payment or plan, or use another account"
	case Quota:
		return "wait, raise the plan's limit, or use another model"
	case Overload:
		return "nothing: den tries again"
	case Context:
		return "compact or clear the conversation"
	case NoSession:
		return "nothing: a new session is begun"
	case Gone, Silent, Bug:
		return "look at the agent's log"
	}
	return ""
}

const (
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
)

// Wait is how long to wait before attempt n (from 1) after a failure: what the
// vendor said, or twice as long each time, with jitter so that many agents do
// not come back at once.
func (f *Failure) Wait(n int) time.Duration {
	if f.RetryAfter > 0 {
		return f.RetryAfter + rand.N(f.RetryAfter/10+time.Second)
	}
	wait := firstWait << min(n-1, 20)
	if wait <= 0 || wait > longestWait {
		wait = longestWait
	}
	return wait/2 + rand.N(wait/2)
}

// Retried reports whether den goes on by itself after a failure of the class.
func (c Class) Retried() bool {
	switch c {
	case Quota, Overload, Gone, Silent:
		return true
	}
	return false
}
