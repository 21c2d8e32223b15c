package permission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
)

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
