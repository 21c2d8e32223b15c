package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// message is one of a session, as the server lists it.
type message struct {
	Info struct {
		ID       string `json:"id"`
		ParentID string `json:"parentID"` // of the agent's: the user's that it answers
		Role     string `json:"role"`     // user or assistant
		Time     struct {
			Created   int64 `json:"created"`   // milliseconds
			Completed int64 `json:"completed"` // 0 while it is written
		} `json:"time"`
		Finish string    `json:"finish"` // why the model stopped: "stop", "tool-calls", …
		Error  *apiError `json:"error"`
		Cost   float64   `json:"cost"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"info"`
	Parts []part `json:"parts"`
}

type part struct {
	Type      string `json:"type"` // text, tool, reasoning, …
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // written by opencode itself
	Tool      string `json:"tool"`
	State     struct {
		Input json.RawMessage `json:"input"`
	} `json:"state"`
}

// text is what a message says.
func (m message) text() string {
	var all []string
	for _, p := range m.Parts {
		if p.Type == "text" && !p.Synthetic && p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// whole reports whether nothing follows a message of the agent's.
func (m message) whole() bool {
	return m.Info.Error != nil || m.Info.Time.Completed > 0 && m.Info.Finish != "tool-calls"
}

// aborted is the name of the error of a turn that somebody ended.
const aborted = "MessageAbortedError"

// replyIn finds a message among a session's, the oldest first, and reads those
// that answer it. idle says that the session works on nothing. Of messages that
// came in one turn, the agent answers the last.
func replyIn(all []message, m conversation.Asked, idle bool) (conversation.Reply, bool) {
	at, certainty := find(all, m)
	if at < 0 {
		return conversation.Reply{}, false
	}
	answered := map[string]bool{}
	for _, one := range all {
		answered[one.Info.ParentID] = true
	}
	r := conversation.Reply{Source: RecordName, Certainty: certainty}
	parent, begun := all[at].Info.ID, all[at].Info.Time.Created
	for _, one := range all[at+1:] {
		switch {
		case one.Info.Role == "user" && !answered[parent]:
			parent, r.Certainty = one.Info.ID, conversation.Likely
		case one.Info.ParentID == parent:
			one.addTo(&r, begun)
		}
	}
	r.Ended = r.Ended && idle
	return r, true
}

// find returns where a message is: by its id, or by its text where it was
// typed; -1 for nowhere.
func find(all []message, m conversation.Asked) (int, conversation.Certainty) {
	own := ownPart(m.ID)
	byID := slices.IndexFunc(all, func(o message) bool { return o.Info.Role == "user" && strings.HasSuffix(o.Info.ID, own) })
	if byID >= 0 {
		return byID, conversation.Exact
	}
	return slices.IndexFunc(all, func(o message) bool {
		return o.Info.Role == "user" && m.Is(o.text(), time.UnixMilli(o.Info.Time.Created))
	}), conversation.Matched
}

// addTo adds a message of the agent's to a reply. begun is when the turn began,
// in milliseconds.
func (m message) addTo(r *conversation.Reply, begun int64) {
	if text := m.text(); text != "" {
		r.Text = text
	}
	for _, p := range m.Parts {
		if p.Type == "tool" {
			r.Tools = append(r.Tools, conversation.ToolUse{Name: p.Tool, Input: string(p.State.Input)})
		}
	}
	t := m.Info.Tokens
	r.Usage.InputTokens += t.Input + t.Cache.Read + t.Cache.Write
	r.Usage.OutputTokens += t.Output
	r.Usage.CostUSD += m.Info.Cost
	if m.Info.Time.Completed > 0 {
		r.Duration = time.Duration(m.Info.Time.Completed-begun) * time.Millisecond
	}
	r.Ended, r.Cancelled, r.Failure = m.whole(), false, ""
	switch e := m.Info.Error; {
	case e == nil:
	case e.Name == aborted:
		r.Cancelled = true
	default:
		r.Failure = strings.TrimSpace(e.Name + " " + e.Data.Message)
	}
}

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
