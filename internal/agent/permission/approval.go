package permission

import (
	"den/internal/base/fault"
	"fmt"
	"slices"
	"strings"
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

// Decide answers an open approval for a person. The decision is on disk before
// the agent hears of it. Where somebody was faster, it is fault.Busy.
func (b *Broker) Decide(id string, answer Answer) (Approval, error) {
	if answer.By == "" {
		return Approval{}, fault.Errorf(fault.Usage, "decide approval '%s': it is not said who decides", id)
	}
	a, err := b.decide(id, answer)
	if err != nil {
		return Approval{}, err
	}
	b.options.Tell(a)
	return a, nil
}

func (b *Broker) decide(id string, answer Answer) (Approval, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, err := b.findLocked(id)
	if err != nil {
		return Approval{}, err
	}
	a := w.approval
	if err := answer.fits(a); err != nil {
		return Approval{}, err
	}
	a.State, a.By, a.Why, a.Decided = Denied, answer.By, maskText(answer.Why), time.Now().Round(0)
	switch {
	case answer.Text != "":
		a.State, a.Answer = Answered, maskText(answer.Text)
	case answer.Approve:
		a.State = Approved
	}
	var added []Rule
	if answer.Always {
		if added, err = b.narrowLocked(w, a); err != nil {
			a.Note = "decided for this time only: " + maskerOf(w.request).text(err.Error())
		} else {
			a.Always = true
		}
	}
	if err := b.recordLocked(a, added); err != nil {
		return Approval{}, fmt.Errorf("decide approval '%s': %w", a.ID, err)
	}
	if a.Always {
		if err := b.rememberLocked(added); err != nil {
			a.Always, a.Note = false, "decided for this time only: "+err.Error()
			// Best effort: the audit log has the decision, and the rules are
			// not in force, whatever this file says.
			_ = writeApproval(b.options.Dir, a)
		}
	}
	w.answer = answer.Text
	b.closeLocked(w, a)
	return a, nil
}

// fits refuses a decision that does not fit what is asked: a question is
// answered with text, or not at all, and everything else without.
func (answer Answer) fits(a Approval) error {
	isQuestion := a.Request.Kind == Question
	switch {
	case isQuestion && answer.Always:
		return fault.Errorf(fault.Usage, "decide approval '%s': it is a question: there is no answer for always", a.ID)
	case isQuestion && answer.Approve && answer.Text == "":
		return fault.Hintf(fault.Errorf(fault.Usage, "decide approval '%s': it is a question, and needs an answer", a.ID), "den approvals answer %s TEXT", a.ID)
	case !isQuestion && answer.Text != "":
		return fault.Hintf(fault.Errorf(fault.Usage, "decide approval '%s': it is no question", a.ID), "approve or deny it")
	}
	return nil
}

func (b *Broker) findLocked(id string) (*waiting, error) {
	id = strings.ToLower(strings.TrimPrefix(id, "#"))
	if w := b.waiting[id]; w != nil {
		return w, nil
	}
	at := slices.IndexFunc(b.closed, func(a Approval) bool { return a.ID == id })
	if at < 0 {
		return nil, fault.Hintf(fault.Errorf(fault.NotFound, "decide approval '%s': there is none", id), "'den approvals' lists those that are open")
	}
	a := b.closed[at]
	who := ""
	if a.By != "" {
		who = " by " + a.By
	}
	err := fault.Errorf(fault.Busy, "decide approval '%s': it was %s%s at %s", id, a.State, who, a.Decided.Format(time.RFC3339))
	return nil, fault.Hintf(err, "the agent asks again if it still wants to")
}

// narrowLocked returns the rules that a decision for always adds.
func (b *Broker) narrowLocked(w *waiting, a Approval) ([]Rule, error) {
	if hasSecret(w.request) {
		return nil, fault.Errorf(fault.Usage, "remember decision: the request contains a secret")
	}
	outcome := Deny
	if a.State == Approved {
		outcome = Allow
	}
	added, err := b.policy.Remember(w.request, outcome)
	if err != nil {
		return nil, err
	}
	if len(b.rules)+len(added) > maxRules {
		return nil, fault.Errorf(fault.Busy, "remember decision: there are %d remembered rules already", len(b.rules))
	}
	for i := range added {
		added[i].Origin = fmt.Sprintf("approval %s, decided by %s", a.ID, a.By)
	}
	return added, nil
}

// rememberLocked puts rules in force, on disk first.
func (b *Broker) rememberLocked(added []Rule) error {
	rules := slices.Concat(b.rules, added)
	policy, err := combined(b.settings, rules)
	if err != nil {
		return err
	}
	if err := writeRules(b.options.Dir, rules); err != nil {
		return err
	}
	b.rules, b.policy = rules, policy
	return nil
}
