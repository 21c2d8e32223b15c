package plan

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// send gives the agent a prompt, once a session is open.
func (p *step) send(next string) {
	if used := max(p.s.Turns, p.s.Replies); p.s.Limits.Turns > 0 && used >= p.s.Limits.Turns {
		p.end(Outcome{Reason: Limit, Why: fmt.Sprintf("%d turns were used", used)})
		return
	}
	p.s.next = next
	if !p.s.Open {
		p.enter(Opening, Action{Kind: Open, Resume: p.s.Session})
		return
	}
	p.s.Turns++
	p.s.Turn = Turn{Number: p.s.Turns, Active: p.s.Elapsed}
	p.enter(Turning, Action{Kind: Prompt, Turn: p.s.Turn.Number, Text: p.promptText(next)})
	if p.s.untold() { // a prompt does not carry all of it
		p.do(Action{Kind: RouseWait})
	}
}

// promptText is the prompt with the notices that wait.
func (p *step) promptText(text string) string {
	notices := p.takeNotices(p.s.Turn.Number)
	p.heard() // whatever the model replies, it replies to these
	switch {
	case len(notices) == 0:
		return text
	case text == "":
		return NoticesText(notices)
	}
	return text + "\n\n" + NoticesText(notices)
}

func (p *step) opening(e Event) {
	switch e.Kind {
	case Opened:
		if e.Session != "" {
			p.s.Session = e.Session
		}
		p.s.Open = true
		p.send(p.s.next)
	case OpenFailed:
		if e.Unusable {
			p.end(Outcome{Reason: Fatal, Why: e.Problem, Advice: "correct what is configured for the runner"})
			return
		}
		p.failed(e.Failure)
	}
}

// turning handles what happens within the turn, while it runs and while it is
// being interrupted.
func (p *step) turning(e Event) {
	if e.Turn != p.s.Turn.Number {
		return // of a turn that is over
	}
	p.s.Turn.Active = p.s.Elapsed
	p.note(e)
	switch e.Kind {
	case Replied:
		p.replied(e)
	case Spoke, Worked:
		p.delivered()
		p.s.Turn.Worked = true
	case Compacting:
		p.end(Outcome{Reason: ContextFull, Why: "the agent was about to shorten its context"})
	case TurnEnded:
		p.turnEnded(e)
	case TurnFailed:
		p.turnFailed(e)
	}
}

// replied notes that the model has begun a reply. One more than the limit ends
// the tick: an agent that uses tools for ever needs no other prompt.
func (p *step) replied(e Event) {
	p.delivered()
	p.s.Turn.Worked = true
	if e.Certain {
		p.seen()
	}
	p.s.Replies++
	switch limit := p.s.Limits.Turns; {
	case limit <= 0:
	case p.s.Replies > limit:
		p.end(Outcome{Reason: Limit, Why: fmt.Sprintf("%d turns were used", limit)})
	case float64(p.s.Replies) >= turnsWarning*float64(limit):
		p.wrapUp(fmt.Sprintf("%d of its %d turns are used", p.s.Replies, limit))
	}
}

// note keeps what is worth knowing of an event, whatever follows from it.
func (p *step) note(e Event) {
	if e.Session != "" {
		p.s.Session = e.Session
	}
	switch e.Kind {
	case Spoke, TurnEnded:
		if strings.TrimSpace(e.Text) != "" {
			p.s.LastText = clip(e.Text, maxLastText)
		}
	case Used:
		p.used(e)
	}
}

// delivered has the causes of the tick acknowledged: the model has acted on the
// first prompt, which names them. That the agent's program has it says little:
// the model may refuse it.
func (p *step) delivered() {
	if p.s.Acknowledged {
		return
	}
	p.s.Acknowledged = true
	if len(p.s.Causes) > 0 {
		p.do(Action{Kind: AckCauses, Causes: p.s.Causes})
	}
}

// turnEnded goes on after a turn that the agent ended, or that was interrupted.
func (p *step) turnEnded(e Event) {
	if p.s.Turn.Silent && !p.s.ending() {
		p.turnFailed(e)
		return
	}
	p.turnOver(e)
	if p.s.ending() { // it was cut off: what the agent did not get to see stays
		p.acknowledge(func(n Notice) bool { return n.Seen })
		p.close()
		return
	}
	p.delivered()
	p.acknowledge(func(n Notice) bool { return n.Turn > 0 })
	p.s.Retries = 0
	switch {
	case p.overspent():
	case p.s.noticesWait():
		p.send("") // nothing but them
	default:
		p.enter(Checking, Action{Kind: CheckEnd})
	}
}

func (p *step) turnFailed(e Event) {
	p.turnOver(e)
	if p.s.ending() {
		p.acknowledge(func(n Notice) bool { return n.Seen })
		p.close()
		return
	}
	p.forgetTold(func(n Notice) bool { return n.Seen })
	if p.overspent() {
		return
	}
	f := e.Failure
	if p.s.Turn.Silent {
		f = &Failure{Class: SilentClass, Message: "nothing came for " + p.s.Limits.Silence.String()}
	}
	p.failed(f)
}

// turnOver notes that no turn runs, and what the last one was like.
func (p *step) turnOver(e Event) {
	p.s.Stage = Waiting
	if e.Gone {
		p.s.Open = false
	}
	p.s.CostUSD += max(p.s.Turn.CostUSD, sane(e.CostUSD))
	p.s.Turn.CostUSD = 0
	if limit := p.s.Limits.CostUSD; limit > 0 && p.s.CostUSD >= costWarning*limit {
		p.wrapUp(costText(p.s.CostUSD, limit))
	}
}

// sane is an amount that somebody told, 0 where it makes no sense.
func sane(usd float64) float64 {
	if usd > 0 && !math.IsInf(usd, 1) { // a NaN is neither
		return usd
	}
	return 0
}

func costText(usd, limit float64) string {
	return fmt.Sprintf("it has cost %.2f of %.2f USD", usd, limit)
}

// spent ends a tick whose turn has cost too much already, or tells the agent to
// finish.
func (p *step) spent(usd float64) {
	switch limit := p.s.Limits.CostUSD; {
	case limit <= 0:
	case usd >= limit:
		p.end(tooExpensive(usd, limit))
	case usd >= costWarning*limit:
		p.wrapUp(costText(usd, limit))
	}
}

// overspent ends a tick that has cost too much.
func (p *step) overspent() bool {
	limit := p.s.Limits.CostUSD
	if limit <= 0 || p.s.CostUSD < limit {
		return false
	}
	p.end(tooExpensive(p.s.CostUSD, limit))
	return true
}

func tooExpensive(usd, limit float64) Outcome {
	return Outcome{Reason: Limit, Why: fmt.Sprintf("it has cost %.2f USD, and %.2f are allowed", usd, limit)}
}

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
func (p *step) afterFailure(f *Failure) string {
	last := p.s.next
	switch {
	case p.s.Turns == 0: // no prompt was sent yet
		return last
	case !p.s.Open && p.s.Session == "": // what the agent knew is lost
		p.forgetTold(func(Notice) bool { return false })
		return restartText(queryText(p.s.Query, p.s.Causes), f.Error())
	case p.s.Turn.Worked:
		return continueText(f.Error())
	}
	return last
}
