package supervisor

import "fmt"

// state is what the counting rule remembers.
type state struct {
	// Failed counts corrections in a row that were not followed by OK.
	Failed int `json:"failed,omitempty"`
	// Unheard is that the last correction waits for the agent's turn to end: it
	// cannot have helped yet.
	Unheard bool `json:"unheard,omitempty"`
	// Paused is that a person was called. No judge that costs anything is
	// asked until the agent comes back.
	Paused bool `json:"paused,omitempty"`
}

// effect is what follows from a verdict.
type effect struct {
	Whisper  Verdict // to the agent; its Action is "" for none
	Escalate string  // to a person; "" for none
	Back     bool    // the agent came back: evaluation goes on
}

// next is the counting rule, the same for every judge:
//
//	watching  OK                         the count is 0 again
//	watching  CORRECTION, THINK_DEEPER   the count grows; below the threshold the agent
//	                                     is whispered to, at the threshold a person is
//	                                     called and evaluation is paused
//	watching  the same, and the last     nothing: what the agent has not heard did not
//	          one was not heard          fail to help, and one that waits is enough
//	watching  ESCALATION                 a person is called, evaluation is paused
//	paused    OK                         evaluation goes on, the count is 0
//	paused    anything else              nothing: a person was called already
func next(s state, v Verdict, threshold int) (state, effect) {
	switch {
	case v.Action == OK:
		return state{Unheard: s.Unheard}, effect{Back: s.Paused}
	case s.Paused:
		return s, effect{}
	case v.Action == Escalation:
		s.Paused = true
		return s, effect{Escalate: v.Message}
	case s.Unheard:
		return s, effect{}
	}
	s.Failed++
	if s.Failed < threshold {
		s.Unheard = true
		return s, effect{Whisper: v}
	}
	s.Paused = true
	return s, effect{Escalate: fmt.Sprintf("%d corrections in a row did not help; the last one: %s", s.Failed, v.Message)}
}

// returned is the other way back: a person spoke to the agent, or resumed it.
// While evaluation goes on it changes nothing.
func returned(s state) (state, effect) {
	if !s.Paused {
		return s, effect{}
	}
	return state{Unheard: s.Unheard}, effect{Back: true}
}

// heard is the state once the agent was told the last correction.
func heard(s state) state {
	s.Unheard = false
	return s
}

// notTold is the state where the agent cannot be told of the last correction.
func notTold(s state) state {
	s.Failed--
	return heard(s)
}
