package permission

import (
	"time"
)

// An Approval is a request that a person decides, as it is kept on disk and
// shown. Secrets in it are masked.
type Approval struct {
	Version int       `json:"v"`
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Request Request   `json:"request"`
	Asked   string    `json:"asked"` // why the policy does not decide it
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	State   State     `json:"state"`
	By      string    `json:"by,omitempty"`     // who decided
	Why     string    `json:"why,omitempty"`    // the decider's reason
	Answer  string    `json:"answer,omitempty"` // to a Question
	Decided time.Time `json:"decided,omitzero"`
	// Always is that rules were added, so that the like is not asked for
	// again. Note says why none were, although the decider wanted it.
	Always bool   `json:"always,omitempty"`
	Note   string `json:"note,omitempty"`
}

// State is how far an approval has come. The values are stored and sent: add,
// never rename.
type State string

// The states. All but Open are final.
const (
	Open      State = "open"
	Approved  State = "approved"
	Denied    State = "denied"
	Answered  State = "answered" // of a Question
	Expired   State = "expired"
	Withdrawn State = "withdrawn" // who asked is gone, or asks no longer
)

// An Answer is a person's decision.
type Answer struct {
	Approve bool
	Text    string // the answer to a Question
	Always  bool   // also for the like of it
	By      string
	Why     string
}

const (
	recordVersion = 1
	defaultExpiry = 15 * time.Minute
)

// decision is what the agent is told.
func (a Approval) decision() Decision {
	switch a.State {
	case Approved:
		return Decision{Allow: true, Always: a.Always}
	case Denied:
		reason := "denied by " + a.By
		if a.Why != "" {
			reason += ": " + a.Why
		}
		return Decision{Always: a.Always, Reason: reason}
	case Answered:
		return Decision{Allow: true} // Ask adds the answer
	case Expired:
		return Decision{Reason: "expired: nobody decided within " + a.Expires.Sub(a.Created).String()}
	}
	return Decision{Reason: "withdrawn: " + a.Why}
}
