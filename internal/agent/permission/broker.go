package permission

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/base/journal"
)

// Options are what a broker is opened with.
type Options struct {
	Dir      string // for its files; the agent must not be able to change it
	Agent    string
	Settings Settings      // of the policy; Dir is added to what is protected
	Expire   time.Duration // of approvals; 15 minutes where it is 0
	// Tell is called with every approval that is made and with every end of
	// one, from the goroutine that asked or decided, without a lock held. It
	// must return quickly. Or nil.
	Tell func(Approval)
}

// A Broker answers an agent's requests, by its policy or by asking a person.
// Whatever it answers is in the audit log before. One process at a time may
// open a directory.
type Broker struct {
	options Options

	mu       sync.Mutex // guards the fields below, and the files
	settings Settings   // without remembered rules
	rules    []Rule     // remembered
	policy   *Policy    // of both
	waiting  map[string]*waiting
	closed   []Approval // the newest last
	audit    *journal.Journal
}

// waiting is an open approval and who waits for it.
type waiting struct {
	approval Approval
	request  Request       // as it was asked, with its secrets
	answer   string        // as it was given, with its secrets; set before done is closed
	done     chan struct{} // closed when approval is final; until then approval is guarded
}

// OpenBroker reads what is on disk. Approvals that a killed process left open are
// withdrawn: nobody waits for them any more.
func OpenBroker(o Options) (*Broker, error) {
	if o.Expire <= 0 {
		o.Expire = defaultExpiry
	}
	if o.Tell == nil {
		o.Tell = func(Approval) {}
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, approvalsDir), 0o700); err != nil {
		return nil, fmt.Errorf("open approvals: %w", err)
	}
	b := &Broker{options: o, waiting: map[string]*waiting{}, audit: openAudit(o.Dir, auditLimits)}
	var err error
	if b.rules, err = readRules(o.Dir); err != nil {
		return nil, err
	}
	if err := b.Configure(o.Settings); err != nil {
		return nil, err
	}
	left, err := b.load()
	if err != nil {
		return nil, err
	}
	for _, a := range left {
		o.Tell(a)
	}
	return b, nil
}

// load reads the approvals and withdraws the open ones.
func (b *Broker) load() (withdrawn []Approval, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, _, err := List(b.options.Dir) // damaged files are shown by List, and left alone
	if err != nil {
		return nil, err
	}
	slices.Reverse(all) // the newest last
	for _, a := range all {
		if a.State != Open {
			b.closed = append(b.closed, a)
			continue
		}
		a.State, a.Decided, a.Why = Withdrawn, time.Now(), "the process that asked has ended"
		if err := b.recordLocked(a, nil); err != nil {
			return nil, err
		}
		b.closed = append(b.closed, a)
		withdrawn = append(withdrawn, a)
	}
	b.trimLocked()
	return withdrawn, nil
}

// Configure replaces the policy's settings, as after a reload. Remembered
// rules stay. After an error the old policy is in force.
func (b *Broker) Configure(s Settings) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Protected = append(slices.Clone(s.Protected), b.options.Dir)
	policy, err := combined(s, b.rules)
	if err != nil {
		return err
	}
	b.settings, b.policy = s, policy
	return nil
}

// WithRemembered is the policy of a Broker with these settings and this
// directory, for whoever only wants to know what it would decide.
func WithRemembered(s Settings, dir string) (*Policy, error) {
	rules, err := readRules(dir)
	if err != nil {
		return nil, err
	}
	s.Protected = append(slices.Clone(s.Protected), dir)
	return combined(s, rules)
}

func combined(s Settings, rules []Rule) (*Policy, error) {
	p, err := NewPolicy(s)
	if err != nil {
		return nil, err
	}
	return p.With(rules...)
}

// Explain says how the policy decides a request, without asking anybody.
func (b *Broker) Explain(r Request) Explanation {
	b.mu.Lock()
	policy := b.policy
	b.mu.Unlock()
	return policy.Explain(r)
}

// Ask answers a request. It returns when the policy or a person has decided,
// when the approval expires, or when the context ends. Where the answer cannot
// be written to the audit log, it is a denial.
func (b *Broker) Ask(ctx context.Context, r Request) Decision {
	e := b.Explain(r)
	if e.Outcome != Ask {
		return b.byPolicy(r, e)
	}
	w, a, err := b.open(r, e)
	if err != nil {
		return Decision{Reason: fmt.Sprintf("nobody can be asked: %v", err)}
	}
	b.options.Tell(a)
	expired := time.NewTimer(time.Until(a.Expires))
	defer expired.Stop()
	select {
	case <-w.done:
	case <-expired.C:
		b.finish(w, Expired, "nobody decided in time")
	case <-ctx.Done():
		b.finish(w, Withdrawn, "the agent no longer asks")
	}
	<-w.done
	d := w.approval.decision()
	d.Answer = w.answer
	return d
}

func (b *Broker) byPolicy(r Request, e Explanation) Decision {
	why, err := b.note(r, e, ByPolicy)
	switch {
	case err != nil:
		return Decision{Reason: err.Error()}
	case e.Outcome == Deny:
		return Decision{Reason: "denied by policy: " + why}
	}
	return Decision{Allow: true}
}

// note writes to the audit log what the policy says to a request, and returns
// why, without secrets.
func (b *Broker) note(r Request, e Explanation, event Event) (why string, err error) {
	mask := maskerOf(r)
	why = mask.text(e.Why)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.auditLocked(Entry{Event: event, Outcome: e.Outcome, Request: masked(r), Rule: mask.rule(e.Rule), Why: why}); err != nil {
		return "", fmt.Errorf("the decision could not be recorded: %w", err)
	}
	return why, nil
}

// open makes an approval, on disk before anybody hears of it.
func (b *Broker) open(r Request, e Explanation) (*waiting, Approval, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= maxOpen {
		return nil, Approval{}, fault.Errorf(fault.Busy, "%d requests wait already", maxOpen)
	}
	now := time.Now().Round(0)
	w := &waiting{request: r, done: make(chan struct{}), approval: Approval{
		Version: recordVersion, ID: newID(b.takenLocked), Agent: b.options.Agent, Request: masked(r), Asked: maskerOf(r).text(e.Why),
		Created: now, Expires: now.Add(b.options.Expire), State: Open,
	}}
	if err := b.recordLocked(w.approval, nil); err != nil {
		return nil, Approval{}, err
	}
	b.waiting[w.approval.ID] = w
	return w, w.approval, nil
}

func (b *Broker) takenLocked(id string) bool {
	return b.waiting[id] != nil || slices.ContainsFunc(b.closed, func(a Approval) bool { return a.ID == id })
}

// recordLocked writes an approval to the audit log, with the rules that it
// adds, and to its file.
func (b *Broker) recordLocked(a Approval, added []Rule) error {
	entry := Entry{Event: Event(a.State), Outcome: Deny, Approval: a.ID, Request: a.Request, By: a.By, Why: a.Why, Answer: a.Answer}
	switch a.State {
	case Open:
		entry.Event, entry.Outcome, entry.Why = Asked, Ask, a.Asked
	case Approved, Answered:
		entry.Outcome = Allow
	}
	for _, r := range added {
		entry.Rule += r.String() + "; "
	}
	entry.Rule = strings.TrimSuffix(entry.Rule, "; ")
	if err := b.auditLocked(entry); err != nil {
		return err
	}
	return writeApproval(b.options.Dir, a)
}

func (b *Broker) auditLocked(e Entry) error {
	e.Version, e.Time, e.Agent = recordVersion, time.Now().Round(0), b.options.Agent
	if err := b.audit.Append(e); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// finish ends an approval that nobody decided. It does nothing if somebody
// did meanwhile.
func (b *Broker) finish(w *waiting, state State, why string) {
	b.mu.Lock()
	if b.waiting[w.approval.ID] != w {
		b.mu.Unlock()
		return
	}
	a := w.approval
	a.State, a.Decided, a.Why = state, time.Now().Round(0), why
	if err := b.recordLocked(a, nil); err != nil {
		// The answer is a denial whatever is recorded; who opens the directory
		// next finds the approval open and withdraws it.
		a.Note = err.Error()
	}
	b.closeLocked(w, a)
	b.mu.Unlock()
	b.options.Tell(a)
}

// closeLocked makes an approval final, and forgets the oldest ones.
func (b *Broker) closeLocked(w *waiting, a Approval) {
	delete(b.waiting, a.ID)
	b.closed = append(b.closed, a)
	b.trimLocked()
	w.approval = a
	close(w.done)
}

func (b *Broker) trimLocked() {
	for len(b.closed) > keptClosed {
		// Best effort: a file that stays is tried again after the next start.
		_ = removeApproval(b.options.Dir, b.closed[0].ID)
		b.closed = b.closed[1:]
	}
}

// Approvals returns the approvals in the order of List.
func (b *Broker) Approvals() []Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Clone(b.closed)
	for _, w := range b.waiting {
		all = append(all, w.approval)
	}
	sortApprovals(all)
	return all
}

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
	why, err := b.note(r, e, Asked)
	if err != nil {
		return Deny, err.Error()
	}
	return Ask, why
}

// Decides reports whether an explanation is a decision for an agent's program, or
// whether its own judgement stands; see Judge.
func (e Explanation) Decides(kind Kind, defaults bool) bool {
	switch {
	case e.Outcome == Deny:
		return true
	case e.Outcome == Ask && slices.ContainsFunc(e.Parts, Part.asks):
		return true
	case e.Outcome == Allow && len(e.Parts) > 0 && !slices.ContainsFunc(e.Parts, func(p Part) bool { return p.Rule == nil }):
		return kind != Question
	case kind == Think || kind == Question || kind == Other && e.Outcome == Ask:
		return false
	}
	return defaults
}

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
		if part.asks() {
			return Ask, maskerOf(r).text(part.What + ": " + part.Why)
		}
	}
	return "", ""
}
