package plan

import (
	"cmp"
	"fmt"
	"time"
)

// A Failure is why a session or a turn could not be, as the runner tells it.
type Failure struct {
	Class      Class
	Message    string
	RetryAfter time.Duration // as the vendor said; else 0
	Advice     string        // what a person can do, or ""
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return string(f.Class)
	}
	return fmt.Sprintf("%s: %s", f.Class, f.Message)
}

// Class groups failures by what helps. The values are those of the runner; one
// that is not known is taken for a bug.
type Class string

// The classes.
const (
	AuthClass      Class = "auth"
	BillingClass   Class = "billing"
	QuotaClass     Class = "quota"
	OverloadClass  Class = "overload"
	ContextClass   Class = "context"
	NoSessionClass Class = "no_session"
	BugClass       Class = "bug"
	GoneClass      Class = "gone"
	SilentClass    Class = "silent"
)

// bugRetries bounds attempts after failures of which nothing is known: they
// seldom go away by themselves.
const bugRetries = 2

// failed decides what follows from a failure of the runner, by its class alone:
// words are never looked at.
func (p *step) failed(f *Failure) {
	if f == nil {
		f = &Failure{Class: BugClass, Message: "it did not say why"}
	}
	switch f.Class {
	case AuthClass, BillingClass:
		p.end(Outcome{Reason: Fatal, Why: f.Error(), Advice: cmp.Or(f.Advice, "see to the agent's account")})
	case ContextClass:
		p.contextFull(f)
	case NoSessionClass:
		p.s.Session, p.s.Open = "", false
		p.retry(f, 0)
	case GoneClass, SilentClass:
		p.dropSession()
		p.retry(f, p.s.Limits.pause(p.s.Retries+1))
	default:
		// The vendor's trouble after work is another than that before it. What
		// the agent itself fails by may come after work each time.
		if p.s.Turn.Worked && (f.Class == QuotaClass || f.Class == OverloadClass) {
			p.s.Retries = 0
		}
		wait := p.s.Limits.pause(p.s.Retries + 1)
		if f.RetryAfter > 0 {
			wait = f.RetryAfter
		}
		p.retry(f, wait)
	}
}

// contextFull ends the tick. Where the agent has done nothing yet, the prompt
// itself is too long: no other tick would do better.
func (p *step) contextFull(f *Failure) {
	if p.s.Turns <= 1 && !p.s.Turn.Worked {
		p.end(Outcome{Reason: Fatal, Why: f.Error(), Advice: "shorten the system prompt or the initial query, or use a model with a larger context"})
		return
	}
	p.end(Outcome{Reason: ContextFull, Why: f.Error()})
}

func (p *step) dropSession() {
	if p.s.Open {
		p.do(Action{Kind: DropSession})
	}
	p.s.Open = false
}

// retry waits and tries again, or gives up. Another tick may try later; how
// much later, the vendor may have said.
func (p *step) retry(f *Failure, wait time.Duration) {
	limit := p.s.Limits.Retries
	switch f.Class {
	case QuotaClass, OverloadClass, NoSessionClass, GoneClass, SilentClass:
	default:
		limit = min(limit, bugRetries)
	}
	switch {
	case p.s.Retries >= limit:
		p.giveUp(f, fmt.Sprintf("it failed %d times in a row, at last with %s", p.s.Retries+1, f.Error()))
		return
	case wait >= p.s.Limits.Wall-p.s.Elapsed:
		p.giveUp(f, fmt.Sprintf("another attempt made sense after %s, when the tick's time is over: %s", wait.Round(time.Second), f.Error()))
		return
	}
	p.s.Retries++
	p.s.next = p.afterFailure(f)
	p.s.Stage, p.s.Hooks, p.s.Until = Waiting, nil, p.s.Elapsed+wait
	if wait == 0 {
		p.send(p.s.next)
	}
}

func (p *step) giveUp(f *Failure, why string) {
	p.end(Outcome{Reason: Exhausted, Why: why, Rest: f.RetryAfter})
}

// afterFailure is the prompt that makes a failed turn good: the same one where
// the agent did nothing about it.
func (p *step) afterFailure(f *Failure) prompt {
	last := p.s.next
	switch {
	case p.s.Turns == 0: // no prompt was sent yet
		return last
	case !p.s.Open && p.s.Session == "": // what the agent knew is lost
		p.forgetTold(func(Notice) bool { return false })
		return prompt{kind: promptRestart, text: restartText(queryText(p.s.Query, p.s.Causes), f.Error())}
	case p.s.Turn.Worked:
		return prompt{kind: promptContinue, text: continueText(f.Error())}
	}
	return last
}
