package modelstub

import (
	"encoding/json"
	"time"
)

// readChat reads a request of Chat Completions.
func (r *Request) readChat() error {
	var body struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	r.Model, r.Stream = body.Model, body.Stream
	for _, t := range body.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range body.Messages {
		text := m.Content.text()
		switch m.Role {
		case "system", "developer":
			r.System = joined(r.System, text)
		case "user":
			r.Text = text
		case "assistant":
			r.Results = nil
		case "tool", "function":
			r.Results = append(r.Results, text)
		}
	}
	return nil
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// chatAnswer is a reply in the dialect of Chat Completions.
type chatAnswer struct {
	id      string
	model   string
	created int64
	reply   Reply
	calls   []object
}

func (s *Server) chatAnswer(req *Request, r Reply) answer {
	a := &chatAnswer{id: s.id("chatcmpl"), model: req.Model, created: time.Now().Unix(), reply: r}
	for i, c := range r.Calls {
		a.calls = append(a.calls, object{
			"index": i, "id": s.id("call"), "type": "function",
			"function": object{"name": c.Name, "arguments": string(c.Input)},
		})
	}
	return a
}

func (a *chatAnswer) finish() string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (a *chatAnswer) usage() object {
	u := a.reply.usage()
	return object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output}
}

func (a *chatAnswer) plain() object {
	message := object{"role": "assistant", "content": a.reply.text()}
	if len(a.calls) > 0 {
		message["tool_calls"] = a.calls
	}
	return object{
		"id": a.id, "object": "chat.completion", "created": a.created, "model": a.model, "usage": a.usage(),
		"choices": []object{{"index": 0, "message": message, "finish_reason": a.finish()}},
	}
}

func (a *chatAnswer) stream(s *stream) {
	send := func(delta object, finish, usage any) {
		s.event("", object{
			"id": a.id, "object": "chat.completion.chunk", "created": a.created, "model": a.model, "usage": usage,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	send(object{"role": "assistant", "content": ""}, nil, nil)
	goesOn := s.text(a.reply, func(chunk string) {
		send(object{"content": chunk}, nil, nil)
	}, func() {
		s.event("", object{"error": openAIError(Failure{Status: 500, Message: "The server had an error"})})
	})
	if !goesOn {
		return
	}
	for _, c := range a.calls {
		send(object{"tool_calls": []object{c}}, nil, nil)
	}
	send(object{}, a.finish(), a.usage())
	s.raw("", "[DONE]")
}
