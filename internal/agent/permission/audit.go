package permission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/journal"
)

const auditFile = "audit.jsonl"

var auditLimits = journal.Limits{Bytes: 4 << 20, Kept: 3}

// Entry is a line of the audit log.
type Entry struct {
	Version  int       `json:"v"`
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent"`
	Event    Event     `json:"event"`
	Outcome  Outcome   `json:"outcome"`
	Request  Request   `json:"request"`
	Approval string    `json:"approval,omitempty"` // its id
	Rule     string    `json:"rule,omitempty"`     // that decided
	By       string    `json:"by,omitempty"`       // the person who decided
	Why      string    `json:"why"`
	Answer   string    `json:"answer,omitempty"` // to a question
}

// Event is what an entry of the audit log is about. The values are stored:
// add, never rename.
type Event string

// The events: a decision by the policy, and the states of approvals.
const (
	ByPolicy Event = "policy"
	Asked    Event = "asked"
)

// openAudit opens the audit log in a directory.
func openAudit(dir string, l journal.Limits) *journal.Journal {
	return journal.Open(filepath.Join(dir, auditFile), l)
}

// ReadAudit returns the entries of the audit log in dir, the oldest first.
// Lines that cannot be read, as a crash may leave one, are skipped and counted.
func ReadAudit(dir string) (entries []Entry, damaged int, err error) {
	err = journal.Read(filepath.Join(dir, auditFile), auditLimits, func(line []byte) error {
		var e Entry
		if json.Unmarshal(line, &e) != nil {
			damaged++
			return nil
		}
		entries = append(entries, e)
		return nil
	})
	return entries, damaged, err
}

// shownExamples bounds how many requests are shown of those that would move.
const shownExamples = 5

// Replayed is what the requests of an audit log would get from a policy.
type Replayed struct {
	Requests int    `json:"requests"` // that the policy of their time decided or asked for
	Same     int    `json:"same"`     // that would get the same
	Moves    []Move `json:"moves"`    // the others; the most first
}

// Move is the requests that would go from one outcome to another.
type Move struct {
	From  Outcome `json:"from"`
	To    Outcome `json:"to"`
	Count int     `json:"count"`
	// Approved and Denied are how many of them a person decided, where they
	// were asked for.
	Approved int       `json:"approved,omitempty"`
	Denied   int       `json:"denied,omitempty"`
	Examples []Example `json:"examples"` // different ones; what a person denied comes first
}

// Example is a request that would move, and how often it was made.
type Example struct {
	Agent   string    `json:"agent"`
	Request Request   `json:"request"`
	Why     string    `json:"why"` // what the policy says to it
	Count   int       `json:"count"`
	Denied  int       `json:"denied,omitempty"` // by a person
	Last    time.Time `json:"last"`
}

// Replay decides the requests of audit logs again, those since a time, by the
// policies of their agents; an agent without one is left out. It asks nobody
// and changes nothing. Secrets in the logs are masked, and links lead to where
// they lead today, so that a request may be decided in another way than it
// would have been.
func Replay(entries []Entry, since time.Time, policies map[string]*Policy) Replayed {
	ends := map[[2]string]State{}
	for _, e := range entries {
		if e.Approval != "" && e.Event != Asked {
			ends[[2]string{e.Agent, e.Approval}] = State(e.Event)
		}
	}
	out := Replayed{Moves: []Move{}}
	moves := map[[2]Outcome]*moving{}
	for _, e := range entries {
		policy := policies[e.Agent]
		if e.Event != ByPolicy && e.Event != Asked || e.Time.Before(since) || policy == nil {
			continue
		}
		out.Requests++
		would := policy.Explain(e.Request)
		if would.Outcome == e.Outcome {
			out.Same++
			continue
		}
		key := [2]Outcome{e.Outcome, would.Outcome}
		if moves[key] == nil {
			moves[key] = &moving{move: Move{From: e.Outcome, To: would.Outcome}, examples: map[string]*Example{}}
		}
		moves[key].add(e, would.Why, ends[[2]string{e.Agent, e.Approval}])
	}
	for _, m := range moves {
		out.Moves = append(out.Moves, m.end())
	}
	slices.SortFunc(out.Moves, func(a, b Move) int {
		return cmp.Or(b.Count-a.Count, a.From.severity()-b.From.severity(), a.To.severity()-b.To.severity())
	})
	return out
}

// moving is a Move while requests are counted.
type moving struct {
	move     Move
	examples map[string]*Example // by what is alike
}

func (m *moving) add(e Entry, why string, ended State) {
	r := e.Request
	like := fmt.Sprintf("%q", append([]string{e.Agent, r.Tool, r.Command, r.URL, r.Text}, r.Paths...))
	x := m.examples[like]
	if x == nil {
		x = &Example{Agent: e.Agent, Request: r}
		m.examples[like] = x
	}
	x.Why, x.Last = why, e.Time
	x.Count++
	m.move.Count++
	switch ended {
	case Approved, Answered:
		m.move.Approved++
	case Denied:
		m.move.Denied++
		x.Denied++
	}
}

func (m *moving) end() Move {
	for _, x := range m.examples {
		m.move.Examples = append(m.move.Examples, *x)
	}
	all := m.move.Examples
	slices.SortFunc(all, func(a, b Example) int {
		return cmp.Or(b.Denied-a.Denied, b.Count-a.Count, b.Last.Compare(a.Last))
	})
	m.move.Examples = all[:min(len(all), shownExamples)]
	return m.move
}
