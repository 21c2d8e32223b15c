package web

import (
	"strings"
	"time"

	"den/internal/base/journal"
)

const auditVersion = 1

// auditLimits bound the audit log of actions.
var auditLimits = journal.Limits{Bytes: 4 << 20, Kept: 3}

// AuditEntry is a line of the audit log of what is done on pages. The values of
// Event and Action are stored: add, never rename.
type AuditEntry struct {
	V       int       `json:"v"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`  // asked, done or failed; of a terminal that was taken over also left
	Action  string    `json:"action"` // decide, answer, message, order, stop, take_over
	By      string    `json:"by"`
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"` // its id
	Detail  string    `json:"detail,omitempty"`  // what was decided, said or ordered
	Why     string    `json:"why,omitempty"`     // of failed
	Inputs  int       `json:"inputs,omitempty"`  // of left: how often something was typed
}

// The events.
const (
	auditAsked  = "asked"
	auditDone   = "done"
	auditFailed = "failed"
	auditLeft   = "left"
)

// audit writes down what pages do.
type audit struct {
	journal *journal.Journal
	by      string
}

func newAudit(path, by string) *audit { return &audit{journal.Open(path, auditLimits), by} }

const maxDetail = 1000 // bytes that are kept of what was said

func (a *audit) write(e AuditEntry) error {
	e.V, e.At, e.By = auditVersion, time.Now().UTC(), a.by
	if len(e.Detail) > maxDetail {
		e.Detail = strings.ToValidUTF8(e.Detail[:maxDetail], "") + "…"
	}
	return a.journal.Append(e)
}

// around writes down that something is asked for, has it done, and writes down
// how that ended. What cannot be written down is not done.
func (a *audit) around(e AuditEntry, do func() (any, error)) (any, error) {
	e.Event = auditAsked
	if err := a.write(e); err != nil {
		return nil, err
	}
	answer, err := do()
	e.Event = auditDone
	if err != nil {
		e.Event, e.Why = auditFailed, err.Error()
	}
	if werr := a.write(e); err == nil {
		err = werr
	}
	return answer, err
}
