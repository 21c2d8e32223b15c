package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Limits bound a tick. A zero is the default's value; of CostUSD and Turns it
// is no limit.
type Limits struct {
	Wall    time.Duration `json:"wall_ns"`
	Silence time.Duration `json:"silence_ns"`      // within a turn
	Turns   int           `json:"turns,omitempty"` // of the model: replies, and prompts that it left without one
	CostUSD float64       `json:"cost_usd,omitempty"`
	Rounds  int           `json:"rounds"`  // of end conditions that are not met
	Retries int           `json:"retries"` // in a row
	// Window is the model's, where its runner does not tell; 0 where nobody
	// does.
	Window int64 `json:"window,omitempty"`
	// WarnAt and EndAt are parts of the window: at the first the agent is told
	// to finish, at the second the tick is ended. Where the window is not known
	// neither happens, and the tick ends when the agent is about to shorten its
	// context, or cannot.
	WarnAt float64 `json:"warn_at"`
	EndAt  float64 `json:"end_at"`
	// FirstPause and LongestPause are between attempts of what failed, where
	// the vendor does not say how long to wait.
	FirstPause   time.Duration `json:"first_pause_ns"`
	LongestPause time.Duration `json:"longest_pause_ns"`
}

// DefaultLimits are used where nothing else is configured.
var DefaultLimits = Limits{
	Wall: 4 * time.Hour, Silence: 10 * time.Minute, Rounds: 10, Retries: 10,
	WarnAt: 0.7, EndAt: 0.9,
	FirstPause: 10 * time.Second, LongestPause: 10 * time.Minute,
}

// wallWarning is the part of the time after which the agent is told to finish,
// costWarning that of the money, and turnsWarning that of the replies.
const (
	wallWarning  = 0.9
	costWarning  = 0.9
	turnsWarning = 0.9
)

// orDefault fills in what is not set.
func (l Limits) orDefault() Limits {
	d := DefaultLimits
	fill(&l.Wall, d.Wall)
	fill(&l.Silence, d.Silence)
	fill(&l.Rounds, d.Rounds)
	fill(&l.Retries, d.Retries)
	fill(&l.WarnAt, d.WarnAt)
	fill(&l.EndAt, d.EndAt)
	fill(&l.FirstPause, d.FirstPause)
	fill(&l.LongestPause, d.LongestPause)
	if l.EndAt < l.WarnAt {
		l.EndAt = l.WarnAt
	}
	return l
}

func fill[T int | int64 | float64 | time.Duration](value *T, byDefault T) {
	if *value <= 0 {
		*value = byDefault
	}
}

// pause is how long to wait before attempt n, from 1.
func (l Limits) pause(n int) time.Duration { return Doubled(l.FirstPause, n-1, l.LongestPause) }

// Doubled is a pause that was doubled some times, at most the longest one.
func Doubled(pause time.Duration, times int, longest time.Duration) time.Duration {
	for ; times > 0 && pause < longest; times-- {
		pause *= 2
	}
	return min(pause, longest)
}

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
