package permission

// Check tells what the rules say to something that an agent would do without
// asking: Deny, or Ask for what a person has to decide first, and why. Where no
// rule forbids it, and it changes no file that decides what runs, the outcome is
// "", and the agent's own judgement stands: the defaults are for what is asked
// for. A denial is in the audit log when Check returns; whatever else comes of
// it is written when the agent asks.
func (b *Broker) Check(r Request) (Outcome, string) {
	e := b.Explain(r)
	if e.Outcome == Deny {
		return Deny, b.byPolicy(r, e).Reason
	}
	for _, part := range e.Parts {
		if part.Outcome == Ask && (part.Rule != nil || part.Decisive) {
			return Ask, maskerOf(r).text(part.What + ": " + part.Why)
		}
	}
	return "", ""
}
