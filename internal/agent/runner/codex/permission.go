package codex

import (
	"encoding/json"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
)

// asked handles a request of codex's.
func (s *session) asked(m *message) {
	ask, answer := s.requestOf(m)
	if answer == nil {
		s.skipped.Add("request " + m.Method)
		s.replies.Send(jsonrpc.Message{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "den does not support " + m.Method}})
		return
	}
	s.questions.Ask(string(m.ID), ask, func(d permission.Decision) {
		result, err := json.Marshal(answer(d))
		if err != nil {
			s.log("answer " + m.Method + ": " + err.Error())
		}
		s.replies.Send(jsonrpc.Message{ID: m.ID, Result: result})
	})
}

// requestOf makes a question of a request, and the function that makes codex's
// answer of the decision; it is nil for what den does not know.
func (s *session) requestOf(m *message) (permission.Request, func(permission.Decision) any) {
	p := &m.about
	ask := permission.Request{Text: p.Reason, Dir: p.Dir, Input: m.Params}
	switch m.Method {
	case wire.ApproveCommand:
		ask.Tool, ask.Kind, ask.Command = "shell", permission.Execute, innerCommand(p.Command)
		if p.Network != nil {
			ask.Kind, ask.URL = permission.Fetch, p.Network.Protocol+"://"+p.Network.Host
		}
		return ask, approval
	case wire.ApproveFiles:
		ask.Tool, ask.Kind, ask.Paths = "apply_patch", permission.Edit, s.patches[p.ItemID]
		if p.GrantRoot != "" {
			ask.Paths = append([]string{p.GrantRoot}, ask.Paths...)
		}
		return ask, approval
	case wire.ApprovePermissions:
		ask.Tool, ask.Kind = "request_permissions", permission.Other
		return ask, func(d permission.Decision) any { return grant(p.Permissions, d) }
	case wire.Elicit:
		ask.Tool, ask.Kind, ask.Text, ask.URL = "mcp__"+p.ServerName, permission.Other, p.Message, p.URL
		return ask, func(d permission.Decision) any { return elicitation(len(p.Schema.Required) > 0, d) }
	case wire.AskUser:
		ask.Tool, ask.Kind = "request_user_input", permission.Question
		var all []string
		for _, q := range p.Questions {
			all = append(all, q.Question)
		}
		ask.Text = strings.Join(all, "\n")
		if len(p.Questions) == 1 { // the choices of several cannot be told apart
			for _, o := range p.Questions[0].Options {
				ask.Choices = append(ask.Choices, o.Label)
			}
		}
		return ask, func(d permission.Decision) any { return userInput(p.Questions, d) }
	}
	return ask, nil
}

type decided struct {
	Decision string `json:"decision"`
}

// approval answers a question for approval, for this time: an "always" stays
// with den's policy. codex takes no reason: what was declined, the agent is told
// by codex itself.
func approval(d permission.Decision) any {
	switch {
	case d.Allow:
		return decided{"accept"}
	case d.Interrupt:
		return decided{"cancel"}
	}
	return decided{"decline"}
}

type granted struct {
	Permissions json.RawMessage `json:"permissions"`
	Scope       string          `json:"scope"`
}

// grant gives what was asked for until the turn ends, or nothing of it.
func grant(asked json.RawMessage, d permission.Decision) any {
	out := granted{Permissions: json.RawMessage("{}"), Scope: "turn"}
	if d.Allow && len(asked) > 0 {
		out.Permissions = asked
	}
	return out
}

type elicited struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
	Meta    json.RawMessage `json:"_meta"`
}

// elicitation answers an MCP server's question. One that wants values cannot be
// accepted: a decision has none.
func elicitation(wantsValues bool, d permission.Decision) any {
	switch {
	case d.Allow && !wantsValues:
		return elicited{Action: "accept", Content: json.RawMessage("{}")}
	case d.Interrupt:
		return elicited{Action: "cancel"}
	}
	return elicited{Action: "decline"}
}

type answered struct {
	Answers map[string]answerList `json:"answers"`
}

type answerList struct {
	Answers []string `json:"answers"`
}

// userInput gives a person's answer to every question, or says that there is
// none.
func userInput(questions []wire.Question, d permission.Decision) any {
	text := d.Answer
	if !d.Allow || text == "" {
		text = d.Reason
		if text == "" {
			text = "nobody answered: decide by yourself, or ask in your reply"
		}
	}
	out := answered{Answers: map[string]answerList{}}
	for _, q := range questions {
		out.Answers[q.ID] = answerList{Answers: []string{text}}
	}
	return out
}
