package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// decided answers a request for permission that the policy decides, and reports
// whether it did. What it cannot find out or answer, a person is asked.
func (s *Source) decided(ctx context.Context, e event) bool {
	if e.Type != "permission.asked" || s.judge == nil {
		return false
	}
	var p struct {
		ID        string `json:"id"`
		SessionID string `json:"sessionID"`
		Tool      struct {
			MessageID string `json:"messageID"`
			CallID    string `json:"callID"`
		} `json:"tool"`
	}
	if json.Unmarshal(e.Properties, &p) != nil || p.ID == "" || p.Tool.CallID == "" {
		return false
	}
	tool, input, found := s.use(ctx, p.SessionID, p.Tool.MessageID, p.Tool.CallID)
	if !found {
		return false
	}
	v := s.judge(tool, input)
	if !v.Decided {
		return false
	}
	reply := map[string]string{"reply": allowOnce}
	if !v.Allow {
		reply = map[string]string{"reply": reject, "message": v.Why} // without one, the turn would end
	}
	return s.client.call(ctx, http.MethodPost, "/permission/"+url.PathEscape(p.ID)+"/reply", reply, nil) == nil
}

// use finds the use of a tool for which opencode asks: the request itself has
// only parts of it.
func (s *Source) use(ctx context.Context, session, message, call string) (tool string, input json.RawMessage, found bool) {
	var m struct {
		Parts []struct {
			CallID string `json:"callID"`
			Tool   string `json:"tool"`
			State  struct {
				Input json.RawMessage `json:"input"`
			} `json:"state"`
		} `json:"parts"`
	}
	if err := s.client.call(ctx, http.MethodGet, "/session/"+url.PathEscape(session)+"/message/"+url.PathEscape(message), nil, &m); err != nil {
		return "", nil, false
	}
	for _, p := range m.Parts {
		if p.CallID == call && p.Tool != "" && len(p.State.Input) > 0 {
			return p.Tool, p.State.Input, true
		}
	}
	return "", nil, false
}
