package plan

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
		p.s.Outcome = Outcome{Reason: Crashed, Why: "its process was killed " + when[p.s.Stage]}
	}
	p.s.CostUSD += p.s.Turn.CostUSD
	p.s.Turn.CostUSD = 0
	switch p.s.Stage {
	case Finishing:
		p.do(Action{Kind: Finish, Outcome: p.s.Outcome})
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
var when = map[Stage]string{
	Beginning: "before it began",
	Preparing: "while its container was prepared",
	PreTick:   "while its first hooks ran",
	Opening:   "while the agent was started",
	Turning:   "while the agent worked",
	Waiting:   "before another attempt",
	Checking:  "while its end was checked",
}
