package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/keeper"
	"den/internal/session/attention"
	"den/internal/ui/dashboard"
)

// waiting is all that waits for a person.
func (a *agents) waiting() []keeper.Waiting {
	if a.known == nil || a.known.Attention == nil {
		return nil
	}
	return a.known.Attention.Waiting
}

// waitsFor returns what of an agent waits first, or nil.
func (a *agents) waitsFor(agent string) *keeper.Waiting {
	all := a.waiting()
	if at := slices.IndexFunc(all, func(w keeper.Waiting) bool { return w.Agent == agent }); at >= 0 {
		return &all[at]
	}
	return nil
}

// waitsIn returns what waits in a session, or nil: what was gone to last, else
// the first.
func (a *agents) waitsIn(s *dashboard.Session) *keeper.Waiting {
	var found *keeper.Waiting
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

// queued is one place that needs a person: of the workspace, or a session.
type queued struct {
	id      string
	waiting *keeper.Waiting // or nil: a session that no keeper tells of
	session string          // its id or name, or empty
}

// queue is all that needs a person, what waits longest first. A session of which
// the keeper tells is there once.
func (u *ui) queue() []queued {
	var all []queued
	since := map[string]time.Time{}
	told := map[string]bool{}
	waiting := u.agents.waiting()
	for i := range waiting {
		w := &waiting[i]
		all = append(all, queued{w.ID, w, w.Session})
		since[w.ID], told[w.Session] = w.Since, w.Session != ""
	}
	if u.list != nil {
		for _, s := range u.list.Queue() {
			if !told[s.Name] && !told[s.ID] {
				all = append(all, queued{s.ID, nil, s.ID})
				since[s.ID] = s.Attention.Since
			}
		}
	}
	slices.SortStableFunc(all, func(a, b queued) int {
		x, y := since[a.id], since[b.id]
		switch {
		case x.IsZero() != y.IsZero() && x.IsZero():
			return 1
		case x.IsZero() != y.IsZero():
			return -1
		}
		return x.Compare(y)
	})
	return all
}

// waitingHere returns what waits in the selected session as it is now, or nil.
func (u *ui) waitingHere() *keeper.Waiting {
	if u.session == nil || u.past != nil {
		return nil
	}
	return u.agents.waitsIn(u.session)
}

// visitWaiting goes to what waits next: to its session, or else to its agent in
// the table.
func (u *ui) visitWaiting() {
	a := &u.agents
	all := u.queue()
	if len(all) == 0 {
		return
	}
	last := slices.IndexFunc(all, func(q queued) bool { return q.id == a.visited })
	next := all[(last+1)%len(all)]
	a.visited = next.id
	switch {
	case next.waiting == nil:
		u.all = u.all || !u.isActive(next.session)
		u.visitSession(next.session)
	case !u.visitSession(next.session):
		a.open, a.chosen = true, next.waiting.Agent
	}
}

// isActive reports whether a listed session is active.
func (u *ui) isActive(id string) bool {
	s, ok := u.list.Find(id)
	return ok && s.Status.Active()
}

// summary counts the sessions by their states of attention, for the header.
func (u *ui) summary() string {
	counts := u.list.Counts()
	var words []string
	for _, s := range attention.States() {
		if n := counts[s]; n > 0 && s != attention.Over {
			words = append(words, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(words, ", ")
}

// look notes that the person at the keys has the selected session before them.
// Best effort: its Home may be one that can only be read.
func (u *ui) look() {
	if u.touched && u.session != nil && u.past == nil && u.live != nil && u.session.Attention.State.NeedsPerson() {
		_ = u.session.Dir.Look(u.now())
	}
}

// waitingCount says how much needs a person, for the header.
func (u *ui) waitingCount() string {
	switch n := len(u.queue()); n {
	case 0:
		return ""
	case 1:
		return "  1 needs you (n)  "
	default:
		return fmt.Sprintf("  %d need you (n)  ", n)
	}
}

// waitText is what waits, for how long, and the command that decides it.
func waitText(w *keeper.Waiting, now time.Time) string {
	text := "waits"
	if !w.Since.IsZero() {
		text += " for " + brief.Age(now.Sub(w.Since))
	}
	return plain(fmt.Sprintf("%s: %s: %s", text, w.What, commandOf(w)))
}

// commandOf is the command that decides what waits, or "".
func commandOf(w *keeper.Waiting) string {
	if len(w.Actions) == 0 {
		return ""
	}
	return w.Actions[0].Command
}
