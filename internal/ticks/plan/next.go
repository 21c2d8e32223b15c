package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// First is the state of a tick that is to be begun.
func First(tick int, began time.Time, query string, causes []Cause, limits Limits) State {
	return State{V: Version, Tick: tick, Began: began, Query: query, Causes: causes, Limits: limits.orDefault()}
}

// Next is the rule. It returns the state after an event, and what is to be done
// once that state is recorded. It changes nothing, and takes any event in any
// state: what does not belong to the stage is ignored.
func Next(s State, e Event) (State, []Action) {
	p := &step{s: s.clone()}
	p.s.Elapsed = max(p.s.Elapsed, e.Elapsed)
	p.take(e)
	return p.s, p.actions
}

// step collects what follows from one event.
type step struct {
	s       State
	actions []Action
}

func (p *step) do(a Action) { p.actions = append(p.actions, a) }

// enter begins a stage with the action that it is for.
func (p *step) enter(stage Stage, a Action) {
	p.s.Stage, p.s.Hooks = stage, nil
	p.do(a)
}

// take handles what may come in any stage, and leaves the rest to the stage.
func (p *step) take(e Event) {
	switch e.Kind {
	case Stop:
		p.end(Outcome{Reason: Interrupted, Why: e.Problem})
	case Broken:
		p.end(Outcome{Reason: Crashed, Why: e.Problem})
	case Passed:
		p.passed()
	case Notified:
		p.notified(e.Notices)
	case Answering:
		p.answering(e.Call)
	case SessionGone:
		p.s.Open = false
	default:
		p.inStage(e)
	}
}

func (p *step) inStage(e Event) {
	switch p.s.Stage {
	case New:
		if e.Kind == Start {
			p.enter(Beginning, Action{Kind: Begin})
		}
	case Beginning:
		if e.Kind == Begun {
			p.enter(Preparing, Action{Kind: Prepare})
		}
	case Preparing:
		if e.Kind == Prepared {
			p.prepared(e)
		}
	case PreTick:
		if p.hooksEnded(e, HookPreTick) {
			p.send(queryText(p.s.Query, p.s.Causes))
		}
	case Opening:
		p.opening(e)
	case Turning, Stopping:
		p.turning(e)
	case Checking:
		if e.Kind == Checked {
			p.checked(e.Check)
		}
	case Waiting:
		p.note(e)
	default:
		p.afterEnd(e)
	}
}

// afterEnd goes through the stages that every tick goes through, however it
// ended.
func (p *step) afterEnd(e Event) {
	switch {
	case p.s.Stage == Closing && e.Kind == Closed:
		p.s.Open = false
		p.enter(Finishing, Action{Kind: Finish})
	case p.s.Stage == Finishing && e.Kind == Finished:
		p.enter(PostTick, Action{Kind: RunHooks, Hook: HookPostTick})
	case p.s.Stage == PostTick && p.hooksEnded(e, HookPostTick):
		p.enter(Pushing, Action{Kind: Push})
	case p.s.Stage == Pushing && e.Kind == Pushed:
		p.enter(Cleaning, Action{Kind: Clean})
	case p.s.Stage == Cleaning && e.Kind == Cleaned:
		p.s.Stage = Done
	}
}

// hooksEnded notes the hooks that are started, and reports that all have ended.
func (p *step) hooksEnded(e Event, hook Hook) bool {
	if e.Hook != hook {
		return false
	}
	if e.Kind == HookStarted && !slices.Contains(p.s.Hooks, e.Name) {
		p.s.Hooks = append(p.s.Hooks, e.Name)
	}
	return e.Kind == HooksEnded
}

// prepared goes on with a container that is there, even if it is an older one.
func (p *step) prepared(e Event) {
	if e.Unusable {
		p.end(Outcome{Reason: Unprepared, Why: e.Problem})
		return
	}
	p.s.Warning = e.Problem
	p.enter(PreTick, Action{Kind: RunHooks, Hook: HookPreTick})
}

// checked ends the tick, or tells the agent what keeps it from ending.
func (p *step) checked(c Check) {
	issues := issuesOf(c, p.s.LastText)
	switch {
	case len(issues) == 0 && p.s.noticesWait():
		p.send("") // nothing but the notices
	case len(issues) == 0:
		p.end(Outcome{Reason: Normal})
	case p.s.Rounds >= p.s.Limits.Rounds:
		p.end(Outcome{Reason: Limit, Why: fmt.Sprintf("after %d rounds this was still open: %s", p.s.Rounds, strings.Join(issues, " "))})
	default:
		p.s.Rounds++
		p.send(issuesText(issues))
	}
}

// end decides how the tick ends; the first decision stands. A turn that runs is
// ended first, so that its last words are heard; whatever else runs is ended by
// Close.
func (p *step) end(o Outcome) {
	if p.s.ending() || p.s.Stage == Done {
		return
	}
	p.s.Outcome = o
	switch p.s.Stage {
	case New: // nothing was done yet
		p.s.Stage = Done
	case Turning:
		p.s.Stage = Stopping
		p.do(Action{Kind: Interrupt, Turn: p.s.Turn.Number})
	default:
		p.close()
	}
}

func (p *step) close() { p.enter(Closing, Action{Kind: Close}) }

// Recover returns what is left of a tick whose process was killed: the state to
// record, and what is to be done then. Its events are given to Next as ever.
//
// The agent is not started again. What it ran is ended, the transcript is
// closed, and the hooks after the tick run, each once: one that had been
// started when the process was killed is not started again.
func Recover(s State) (State, []Action) {
	p := &step{s: s.clone()}
	if p.s.Stage == New {
		p.s.Stage = Done
	}
	if p.s.Stage == Done {
		return p.s, nil
	}
	if p.s.Acknowledged && len(p.s.Causes) > 0 {
		p.do(Action{Kind: AckCauses, Causes: p.s.Causes}) // again: it may not have been done
	}
	if !p.s.ending() {
		p.s.Outcome = Outcome{Reason: Crashed, Why: "its process was killed " + when()[p.s.Stage]}
	}
	p.s.CostUSD += p.s.Turn.CostUSD
	p.s.Turn.CostUSD = 0
	switch p.s.Stage {
	case Finishing:
		p.do(Action{Kind: Finish})
	case PostTick:
		p.do(Action{Kind: RunHooks, Hook: HookPostTick, Skip: p.s.Hooks})
	case Pushing:
		p.do(Action{Kind: Push})
	case Cleaning:
		p.do(Action{Kind: Clean})
	default:
		p.enter(Closing, Action{Kind: Close})
	}
	return p.s, p.actions
}

// when says what was going on, for the reason of a tick that was killed.
func when() map[Stage]string {
	return map[Stage]string{
		Beginning: "before it began",
		Preparing: "while its container was prepared",
		PreTick:   "while its first hooks ran",
		Opening:   "while the agent was started",
		Turning:   "while the agent worked",
		Waiting:   "before another attempt",
		Checking:  "while its end was checked",
	}
}
