package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// event is one of the stream /event.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// parseLine reads one line of the stream. Lines between events, and fields
// other than data, are no event.
func parseLine(line []byte) (e event, ok bool, err error) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return e, false, nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, false, fault.Errorf(fault.Protocol, "read opencode's event: %w", err)
	}
	return e, true, nil
}

// properties are those of the events that are read.
type properties struct {
	ID         string     `json:"id"`
	SessionID  string     `json:"sessionID"`
	RequestID  string     `json:"requestID"`
	Status     status     `json:"status"`
	Permission string     `json:"permission"`
	Patterns   []string   `json:"patterns"`
	Questions  []question `json:"questions"`
	Error      *apiError  `json:"error"`
	Info       info       `json:"info"`
}

type status struct {
	Type    string `json:"type"` // busy, retry or idle
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
}

type question struct {
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
}

type apiError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

// info is of a session or a message.
type info struct {
	ID       string `json:"id"`
	ParentID string `json:"parentID"`
	Role     string `json:"role"`
	Time     struct {
		Updated int64 `json:"updated"` // milliseconds
	} `json:"time"`
}

// request is a decision that is open.
type request struct {
	question conversation.Question
	session  string
	single   bool // of a question: it can be answered by one option
}

// The ways to answer a permission, and the one to dismiss a question.
const (
	allowOnce   = "once"
	allowAlways = "always"
	reject      = "reject"
)

func (p properties) permission() request {
	return request{session: p.SessionID, question: conversation.Question{
		ID: p.ID, Kind: conversation.Permission, Text: strings.TrimSpace(p.Permission + " " + strings.Join(p.Patterns, " ")),
		Options: []conversation.Option{{ID: allowOnce, Label: "Allow once"}, {ID: allowAlways, Label: "Allow always"}, {ID: reject, Label: "Reject"}},
	}}
}

func (p properties) choice() request {
	r := request{session: p.SessionID, single: len(p.Questions) == 1, question: conversation.Question{ID: p.ID, Kind: conversation.Choice}}
	var texts []string
	for _, q := range p.Questions {
		texts = append(texts, q.Question)
		for _, o := range q.Options {
			if r.single {
				r.question.Options = append(r.question.Options, conversation.Option{ID: o.Label, Label: o.Label})
			}
		}
	}
	r.question.Text = strings.Join(texts, "\n")
	r.question.Options = append(r.question.Options, conversation.Option{ID: reject, Label: "Dismiss"})
	return r
}

// model is what is known of the server: a pure function of what it said.
type model struct {
	working map[string]status // sessions that are not idle
	open    []request         // in the order in which they were asked
	failed  string            // why the last turn ended, "" for well
}

func newModel() *model { return &model{working: map[string]status{}} }

// apply takes an event in.
func (m *model) apply(e event) error {
	var p properties
	switch e.Type {
	case "session.status", "session.error", "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected", "session.deleted":
		if err := json.Unmarshal(e.Properties, &p); err != nil {
			return fault.Errorf(fault.Protocol, "read opencode's event %s: %w", e.Type, err)
		}
	default:
		return nil
	}
	switch e.Type {
	case "session.status":
		m.setStatus(p.SessionID, p.Status)
	case "session.error":
		m.setError(p.Error)
	case "permission.asked":
		m.ask(p.permission())
	case "question.asked":
		m.ask(p.choice())
	case "session.deleted":
		m.setStatus(p.SessionID, status{Type: "idle"})
	default: // replied, rejected
		m.close(func(r request) bool { return r.question.ID == p.RequestID })
	}
	return nil
}

func (m *model) setStatus(session string, s status) {
	if s.Type == "idle" {
		delete(m.working, session)
		// What a session that has ended its turn asked is no longer open.
		m.close(func(r request) bool { return r.session == session })
		return
	}
	if s.Type == "busy" && len(m.working) == 0 {
		m.failed = ""
	}
	m.working[session] = s
}

func (m *model) setError(e *apiError) {
	switch {
	case e == nil:
	case e.Name == aborted: // Esc
		m.failed = ""
	default:
		m.failed = strings.TrimSpace(e.Name + " " + e.Data.Message)
	}
}

func (m *model) ask(r request) {
	m.close(func(other request) bool { return other.question.ID == r.question.ID })
	m.open = append(m.open, r)
}

func (m *model) close(which func(request) bool) { m.open = slices.DeleteFunc(m.open, which) }

// find returns an open request.
func (m *model) find(id string) (request, bool) {
	i := slices.IndexFunc(m.open, func(r request) bool { return r.question.ID == id })
	if i < 0 {
		return request{}, false
	}
	return m.open[i], true
}

func (m *model) state() conversation.State {
	s := conversation.State{Activity: conversation.Ready}
	switch {
	case len(m.open) > 0:
		q := m.open[0].question
		s.Activity, s.Question = conversation.Asking, &q
	case len(m.working) > 0:
		s.Activity = conversation.Busy
		for _, w := range m.working {
			if w.Type == "retry" {
				s.Why = fmt.Sprintf("attempt %d failed: %s", w.Attempt, w.Message)
			}
		}
	case m.failed != "":
		s.Activity, s.Why = conversation.TurnFailed, m.failed
	}
	return s
}

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
