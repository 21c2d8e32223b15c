package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Due returns when the event Passed has to come, if nothing else comes before,
// as time since the tick began. There is none once it is decided how the tick
// ends: what is left to do is bounded by those who do it.
func (s State) Due() (at time.Duration, ok bool) {
	if s.ending() || s.Stage == New || s.Stage == Done {
		return 0, false
	}
	at = s.Limits.Wall
	if s.WrapUp == "" {
		at = min(at, s.Limits.wallWarning())
	}
	switch {
	case s.Stage == Waiting:
		at = min(at, s.Until)
	case s.Stage == Turning && !s.Turn.Silent:
		at = min(at, s.Turn.Active+s.Limits.Silence)
	}
	return at, true
}

func (l Limits) wallWarning() time.Duration { return time.Duration(wallWarning * float64(l.Wall)) }

// passed acts on time alone.
func (p *step) passed() {
	at, ok := p.s.Due()
	if !ok || p.s.Elapsed < at {
		return
	}
	if p.s.Elapsed >= p.s.Limits.Wall {
		p.end(Outcome{Reason: Limit, Why: "it took " + p.s.Limits.Wall.String()})
		return
	}
	if p.s.Elapsed >= p.s.Limits.wallWarning() {
		p.wrapUp(fmt.Sprintf("%s of its %s are over", p.s.Elapsed.Round(time.Second), p.s.Limits.Wall))
	}
	switch {
	case p.s.Stage == Waiting && p.s.Elapsed >= p.s.Until:
		p.send(p.s.next)
	case p.s.Stage == Turning && !p.s.Turn.Silent && p.s.Elapsed >= p.s.Turn.Active+p.s.Limits.Silence:
		p.s.Turn.Silent = true
		p.do(Action{Kind: Interrupt, Turn: p.s.Turn.Number})
	}
}

// used looks at what the turn has cost so far, and at how full the context is.
func (p *step) used(e Event) {
	if p.s.Stage == Turning || p.s.Stage == Stopping { // later it is in the tick's cost
		p.s.Turn.CostUSD = max(p.s.Turn.CostUSD, sane(e.CostUSD))
		p.spent(p.s.CostUSD + p.s.Turn.CostUSD)
	}
	c := &p.s.Context
	c.Tokens, c.Window = cmp.Or(max(0, e.Tokens), c.Tokens), cmp.Or(max(0, e.Window), c.Window)
	window := cmp.Or(c.Window, p.s.Limits.Window)
	if window <= 0 {
		return
	}
	part := float64(c.Tokens) / float64(window)
	told := fmt.Sprintf("%d %% of the model's context of %d tokens are in use", int(100*part), window)
	switch {
	case part >= p.s.Limits.EndAt:
		p.end(Outcome{Reason: ContextFull, Why: told})
	case part >= p.s.Limits.WarnAt:
		p.wrapUp(told)
	}
}
