package daemon

import (
	"den/internal/agent/conversation"
	"den/internal/keeper"
	"den/internal/keeper/notes"
)

// tellState returns what writes an agent's changes of state into the journal
// and beside its session. Programs that are no
// coding agents become ready and busy with every command: their states are
// shown and not told.
func (d *deps) tellState(name, key string, codingAgent bool, noted *notes.Agent) func(conversation.State) {
	if !codingAgent {
		return nil
	}
	return func(s conversation.State) {
		noted.Take(s)
		e := keeper.Event{Type: keeper.EventState, Agent: name, Key: key, Why: string(s.Activity), Detail: map[string]any{"source": s.Source}}
		switch s.Activity {
		case conversation.Asking:
			e.Type, e.Why = keeper.EventAsking, s.Question.Text
			e.Detail["question"] = s.Question
		case conversation.TurnFailed:
			e.Detail["note"] = s.Why
		case conversation.Ready, conversation.Busy:
		default:
			return // its start and its end are told by others
		}
		d.owner.tell(e)
	}
}

// showState adds what a running agent does to its status.
func showState(status *keeper.AgentStatus, s conversation.State) {
	if status.Actual != keeper.Running || s.Activity == conversation.Gone {
		return
	}
	status.StateFrom, status.StateFallback = s.Source, s.Fallback
	if s.Activity == conversation.Unknown {
		return
	}
	status.State, status.Question = string(s.Activity), s.Question
	if s.Activity == conversation.TurnFailed {
		status.StateWhy = s.Why
	}
	if b := s.Budget; b != nil {
		status.Budget = &keeper.Budget{Level: b.Level, Text: b.Text}
	}
}
