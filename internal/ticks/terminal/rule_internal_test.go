package terminal

import (
	"testing"
	"time"
)

// A wait as a table: what is observed at which time, and why it ends.
func TestWaitRule(t *testing.T) {
	type look struct {
		at  time.Duration
		all []observed
	}
	const s = time.Second
	var (
		idle    = observed{rest: waiting}
		typed   = observed{due: true} // keystrokes, and their echo at most
		prints  = observed{due: true, more: true}
		printed = observed{due: true, more: true, age: 2 * s}
		asks    = observed{due: true, more: true, rest: waiting}
		echoed  = observed{due: true, rest: waiting}
		fell    = observed{due: true, more: true, rest: silent}
		matches = observed{due: true, more: true, matched: true}
		exited  = observed{due: true, ended: true}
	)
	at := func(d time.Duration, all ...observed) look { return look{d, all} }
	for _, c := range []struct {
		name string
		rule waitRule
		look []look
		want string
	}{
		{"done already", waitRule{}, []look{at(0, asks)}, ReasonReady},
		{"done already, beside others", waitRule{}, []look{at(0, idle, typed, asks)}, ReasonReady},
		{"keystrokes without output, and it waits again", waitRule{}, []look{at(0, typed), at(s, echoed)}, ReasonReady},
		{"a program ended", waitRule{}, []look{at(0, idle, exited)}, ReasonExit},
		{"nothing happens", waitRule{}, []look{at(0, idle), at(29*s, idle), at(30*s, idle)}, ReasonTimeout},
		{"it works in silence", waitRule{}, []look{at(0, typed), at(20*s, typed), at(30*s, typed)}, ReasonTimeout},
		{"nobody knows whether it waits", waitRule{}, []look{at(0, typed), at(s, prints), at(3*s, fell)}, ReasonSilence},
		{"output all the time", waitRule{}, []look{at(0, typed), at(s, prints), at(10*s, prints), at(11*s, prints)}, ReasonOutput},
		{"output that was there", waitRule{}, []look{at(0, printed), at(200*time.Millisecond, printed), at(300*time.Millisecond, printed)}, ReasonOutput},
		{"output that only just came", waitRule{}, []look{at(0, prints), at(300*time.Millisecond, prints), at(9*s, prints), at(10*s, prints)}, ReasonOutput},
		{"output that was there, and then it is done", waitRule{}, []look{at(0, printed), at(200*time.Millisecond, asks)}, ReasonReady},
		{"time is up before that", waitRule{limit: 200 * time.Millisecond}, []look{at(0, printed), at(200*time.Millisecond, printed)}, ReasonTimeout},
		{"a look without waiting", waitRule{limit: -1}, []look{at(0, typed)}, ReasonTimeout},

		{"what was waited for", waitRule{until: true}, []look{at(0, prints), at(25*s, matches)}, ReasonMatch},
		{"not yet what is waited for", waitRule{until: true}, []look{at(0, prints), at(25*s, fell), at(30*s, prints)}, ReasonTimeout},
		{"it waits for input instead", waitRule{until: true}, []look{at(0, prints), at(2*s, asks)}, ReasonReady},
		{"it ended instead", waitRule{until: true}, []look{at(0, prints), at(2*s, exited)}, ReasonExit},

		{"login: all are at rest", waitRule{all: true}, []look{at(0, asks, typed), at(s, asks, prints), at(2*s, asks, fell)}, ReasonReady},
		{"login: one ended", waitRule{all: true}, []look{at(0, exited, typed), at(s, exited, asks)}, ReasonReady},
		{"login: one goes on", waitRule{all: true, limit: 15 * s}, []look{at(0, asks, prints), at(14*s, asks, prints), at(15*s, asks, prints)}, ReasonTimeout},
		{"login: nothing was opened", waitRule{all: true}, []look{at(0)}, ReasonReady},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.rule
			r.begins = true
			r.gather = gatherLimit
			r.begun = time.Unix(1000, 0)
			switch r.limit {
			case 0:
				r.limit = defaultWait
			case -1:
				r.limit = 0
			}
			for i, l := range c.look {
				why, again := r.decide(r.begun.Add(l.at), l.all)
				if last := i == len(c.look)-1; !last && why != "" || last && why != c.want {
					t.Fatalf("after %v: %q", l.at, why)
				}
				if why == "" && again <= 0 {
					t.Fatalf("after %v: look again in %v", l.at, again)
				}
				if why == "" && l.at+again > r.limit {
					t.Fatalf("after %v: looks again in %v, when time is up", l.at, again)
				}
			}
		})
	}
}
