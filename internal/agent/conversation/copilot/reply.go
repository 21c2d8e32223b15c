package copilot

import (
	"context"
	"path/filepath"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// RecordName is what Reply.Source says.
const RecordName = "copilot events"

var _ conversation.Replier = (*Source)(nil)

// ReplyTo reads the events of the session that one of the processes uses.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	pids, err := s.options.Processes(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	session, err := s.sessionOf(pids)
	if err != nil {
		return conversation.Reply{}, err
	}
	if session == "" {
		return conversation.Reply{}, fault.Errorf(fault.NotFound, "Copilot has no session now")
	}
	state, err := s.read(ctx) // before the events: what they tell then is no older
	if err != nil {
		return conversation.Reply{}, err
	}
	reply, found := conversation.Reply{}, false
	over := state.Activity == conversation.Ready || state.Activity == conversation.Broken
	err = s.reading.Read(filepath.Join(session, "events.jsonl"), m, func(t *turn) { reply, found = t.told(over), t.id != "" })
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "Copilot's events do not have the message")
	}
	return reply, err
}
