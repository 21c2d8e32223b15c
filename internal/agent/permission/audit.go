package permission

import (
	"encoding/json"
	"path/filepath"
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
