package permission

import "slices"

// Judge decides a use of a tool in an agent whose program asks on its own
// screen, and would do some things unasked. The outcome is "" where the
// program's own judgement stands: for what only talks with its user, for tools
// that den does not know, and, unless defaults is set, for all that no rule
// decides. Any other outcome is in the audit log when Judge returns; where it
// cannot be written there, it is Deny.
func (b *Broker) Judge(r Request, defaults bool) (Outcome, string) {
	e := b.Explain(r)
	if !e.Decides(r.Kind, defaults) {
		return "", ""
	}
	if e.Outcome != Ask {
		if d := b.byPolicy(r, e); !d.Allow {
			return Deny, d.Reason
		}
		return Allow, maskerOf(r).text(e.Why)
	}
	mask := maskerOf(r)
	why := mask.text(e.Why)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.auditLocked(Entry{Event: Asked, Outcome: Ask, Request: masked(r), Rule: mask.rule(e.Rule), Why: why}); err != nil {
		return Deny, "the decision could not be recorded: " + err.Error()
	}
	return Ask, why
}

// Decides reports whether an explanation is a decision for an agent's program, or
// whether its own judgement stands; see Judge.
func (e Explanation) Decides(kind Kind, defaults bool) bool {
	byRule := func(p Part) bool { return p.Rule != nil }
	switch {
	case e.Outcome == Deny:
		return true
	case e.Outcome == Ask && slices.ContainsFunc(e.Parts, func(p Part) bool { return p.Outcome == Ask && (byRule(p) || p.Decisive) }):
		return true
	case e.Outcome == Allow && len(e.Parts) > 0 && !slices.ContainsFunc(e.Parts, func(p Part) bool { return !byRule(p) }):
		return kind != Question
	case kind == Think || kind == Question || kind == Other && e.Outcome == Ask:
		return false
	}
	return defaults
}
