package opencode

import (
	"context"
	"net/http"
	"net/url"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// RecordName is what Reply.Source says.
const RecordName = "opencode messages"

var _ conversation.Replier = (*Source)(nil)

// ReplyTo asks the server for the messages of the session that the screen
// shows.
func (s *Source) ReplyTo(ctx context.Context, m conversation.Asked) (conversation.Reply, error) {
	if why := s.Problem(); why != "" {
		return conversation.Reply{}, fault.Errorf(fault.Unreachable, "read opencode's messages: %s", why)
	}
	session, err := s.current(ctx)
	if err != nil {
		return conversation.Reply{}, err
	}
	if session == "" {
		return conversation.Reply{}, fault.Errorf(fault.NotFound, "opencode has no session now")
	}
	s.mu.Lock()
	_, working := s.model.working[session]
	s.mu.Unlock()
	all, err := s.messages(ctx, session) // after the state: they are no older
	if err != nil {
		return conversation.Reply{}, err
	}
	r, found := replyIn(all, m, !working)
	if !found {
		return r, fault.Errorf(fault.NotFound, "opencode's session %s does not have the message", session)
	}
	return r, nil
}

// messages lists those of a session, the oldest first.
func (s *Source) messages(ctx context.Context, session string) ([]message, error) {
	var all []message
	err := s.client.call(ctx, http.MethodGet, "/session/"+url.PathEscape(session)+"/message", nil, &all)
	return all, err
}
