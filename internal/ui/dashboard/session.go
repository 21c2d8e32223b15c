package dashboard

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/session/attention"
	"den/internal/session/home"
)

// A Listing is every Home that is known and its sessions, at one moment.
type Listing struct {
	Homes []Home `json:"homes"`
	// Problem says why Homes may be missing, or is empty.
	Problem string `json:"problem,omitempty"`
}

// A Home is one state root.
type Home struct {
	Path     string    `json:"path"`
	Own      bool      `json:"own,omitempty"` // the one that the dashboard was started with
	LastSeen time.Time `json:"last_seen,omitzero"`
	Active   int       `json:"active"` // how many of its sessions are
	Sessions []Session `json:"sessions"`
	Problem  string    `json:"problem,omitempty"` // why it could not be read
}

// A Session is a session's record with its actual status.
type Session struct {
	Dir home.Dir `json:"-"`

	ID         string            `json:"id"`
	Name       string            `json:"session"`
	Home       string            `json:"home"`
	Status     home.Status       `json:"status"`
	Failure    string            `json:"failure,omitempty"`
	Command    []string          `json:"command"` // without the variables that it sets: home.ShownCommand
	Cwd        string            `json:"cwd"`
	Cols       int               `json:"cols"` // as it was started; a frame has the size of its moment
	Rows       int               `json:"rows"`
	Labels     map[string]string `json:"labels,omitempty"`
	Created    time.Time         `json:"created"`
	Ended      time.Time         `json:"ended,omitzero"`
	LastOutput time.Time         `json:"last_output,omitzero"` // when its log last grew
	ExitCode   *int              `json:"exit_code,omitempty"`
	ExitSignal string            `json:"exit_signal,omitempty"`
	Problem    string            `json:"problem,omitempty"` // its record cannot be read
	// Attention says whether the session needs a person; its State is empty
	// where the record cannot be read.
	Attention attention.Attention `json:"attention,omitzero"`
}

// Age is how long the session has run, or ran.
func (s *Session) Age(now time.Time) time.Duration {
	if !s.Ended.IsZero() {
		now = s.Ended
	} else if s.Status.Final() && !s.LastOutput.IsZero() {
		now = s.LastOutput // lost: nobody wrote its end down
	}
	return max(0, now.Sub(s.Created))
}

// Active returns the listing without ended sessions: Homes with an active
// session or a problem, and the dashboard's own.
func (l *Listing) Active() *Listing {
	out := &Listing{Problem: l.Problem}
	for _, h := range l.Homes {
		h.Sessions = slices.DeleteFunc(slices.Clone(h.Sessions), func(s Session) bool { return !s.Status.Active() })
		if h.Own || len(h.Sessions) > 0 || h.Problem != "" {
			out.Homes = append(out.Homes, h)
		}
	}
	return out
}

// Queue returns the sessions that need a person, what waits longest first.
func (l *Listing) Queue() []*Session {
	byID := map[string]*Session{}
	for i := range l.Homes {
		for j := range l.Homes[i].Sessions {
			s := &l.Homes[i].Sessions[j]
			byID[s.ID] = s
		}
	}
	queue := []*Session{}
	for _, item := range attention.Queue(l.items()) {
		queue = append(queue, byID[item.ID])
	}
	return queue
}

// Counts counts the states of attention of all sessions.
func (l *Listing) Counts() map[attention.State]int { return attention.Counts(l.items()) }

func (l *Listing) items() []attention.Item {
	var items []attention.Item
	for _, h := range l.Homes {
		for _, s := range h.Sessions {
			items = append(items, attention.Item{ID: s.ID, Attention: s.Attention})
		}
	}
	return items
}

// Find returns the session with this id.
func (l *Listing) Find(id string) (*Session, bool) {
	for i := range l.Homes {
		for j := range l.Homes[i].Sessions {
			if s := &l.Homes[i].Sessions[j]; s.ID == id {
				return s, true
			}
		}
	}
	return nil, false
}

// needsYou is what a filter finds of all sessions that need a person.
const needsYou = "needs-you"

// Matches reports whether all words occur in the session's name, id, status,
// command, directory, Home, labels or state of attention, ignoring case.
func (s *Session) Matches(words string) bool {
	hay := []string{s.Name, s.ID, string(s.Status), strings.Join(s.Command, " "), s.Cwd, s.Home}
	for k, v := range s.Labels {
		hay = append(hay, k+"="+v)
	}
	hay = append(hay, string(s.Attention.State))
	if s.Attention.State.NeedsPerson() {
		hay = append(hay, needsYou)
	}
	all := strings.ToLower(strings.Join(hay, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// describe takes over a record.
func describe(d home.Dir, m *home.Manifest) Session {
	return Session{
		Dir: d, ID: d.ID, Name: m.Name, Home: d.Home.Path, Status: m.Status, Failure: m.Failure,
		Command: home.ShownCommand(m.Command), Cwd: m.Cwd, Cols: m.Cols, Rows: m.Rows, Labels: m.Labels,
		Created: m.Created, Ended: m.Ended, ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
	}
}

// byRelevance puts active sessions first, then the newest.
func byRelevance(a, b Session) int {
	if x, y := a.Status.Active(), b.Status.Active(); x != y {
		if x {
			return -1
		}
		return 1
	}
	return strings.Compare(b.ID, a.ID) // ids sort by time
}

// keeperTag begins the names of agents' sessions. Those in pods have the name of
// the provider in it, too.
var keeperTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^w[0-9a-f]{16}(-[a-z]+-x[0-9a-f]{10})?\.`)
})

// AgentSession returns a session's name without the tag by which a keeper knows
// its own, and whether there was one: the session is an agent's.
func AgentSession(name string) (short string, is bool) {
	tag := keeperTag().FindString(name)
	return name[len(tag):], tag != ""
}
