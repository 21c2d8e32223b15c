package plan

import (
	"fmt"
	"math"
	"strings"
)

// prompt is what is sent next. It is not recorded: a tick whose process was
// killed sends nothing more.
type prompt struct {
	kind promptKind
	text string
}

type promptKind string

const (
	promptQuery    promptKind = "query"
	promptNotices  promptKind = "notices" // nothing but them
	promptIssues   promptKind = "issues"
	promptContinue promptKind = "continue"
	promptRestart  promptKind = "restart"
)

// send gives the agent a prompt, once a session is open.
func (p *step) send(next prompt) {
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
func (p *step) promptText(next prompt) string {
	text := next.text
	if next.kind == promptQuery {
		text = queryText(p.s.Query, p.s.Causes)
	}
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
		p.send(prompt{kind: promptNotices})
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
