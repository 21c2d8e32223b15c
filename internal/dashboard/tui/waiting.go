package tui

import (
	"fmt"
	"slices"
	"time"

	"den/internal/dashboard"
)

// Waiting is something that waits for a person.
type Waiting struct {
	ID      string // differs between all that waits
	Agent   string // or empty: the workspace itself
	Session string // by name or id, where it has one
	What    string
	Text    string    // all of it, or empty: What is all
	Command string    // that decides it
	Ways    []Way     // to decide it here; or none: the command does
	Since   time.Time // or zero
}

// waiting is all that waits for a person.
func (a *agents) waiting() []Waiting {
	if a.known == nil {
		return nil
	}
	return a.known.Waiting
}

// waitsFor returns what of an agent waits first, or nil.
func (a *agents) waitsFor(agent string) *Waiting {
	all := a.waiting()
	if at := slices.IndexFunc(all, func(w Waiting) bool { return w.Agent == agent }); at >= 0 {
		return &all[at]
	}
	return nil
}

// waitsIn returns what waits in a session, or nil: what was gone to last, else
// the first.
func (a *agents) waitsIn(s *dashboard.Session) *Waiting {
	var found *Waiting
	all := a.waiting()
	for i, w := range all {
		if w.Session == "" || w.Session != s.Name && w.Session != s.ID {
			continue
		}
		if found == nil || w.ID == a.visited {
			found = &all[i]
		}
	}
	return found
}

// waitingHere returns what waits in the selected session as it is now, or nil.
func (u *ui) waitingHere() *Waiting {
	if u.session == nil || u.past != nil {
		return nil
	}
	return u.agents.waitsIn(u.session)
}

// visitWaiting goes to what waits next: to its session, or else to its agent in
// the table.
func (u *ui) visitWaiting() {
	a := &u.agents
	all := a.waiting()
	if len(all) == 0 {
		return
	}
	last := slices.IndexFunc(all, func(w Waiting) bool { return w.ID == a.visited })
	next := all[(last+1)%len(all)]
	a.visited = next.ID
	if !u.visitSession(next.Session) {
		a.open, a.chosen = true, next.Agent
	}
}

// waitingCount says how much waits, for the header.
func (a *agents) waitingCount() string {
	switch n := len(a.waiting()); n {
	case 0:
		return ""
	case 1:
		return "1 waits for you (n)  "
	default:
		return fmt.Sprintf("%d wait for you (n)  ", n)
	}
}

// text is what waits, for how long, and the command that decides it.
func (w Waiting) text(now time.Time) string {
	text := "waits"
	if !w.Since.IsZero() {
		text += " for " + age(max(0, now.Sub(w.Since)))
	}
	return plain(fmt.Sprintf("%s: %s: %s", text, w.What, w.Command))
}
