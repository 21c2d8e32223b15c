package modelstub

import "encoding/json"

// readMessages reads Anthropic's request.
func (r *Request) readMessages() error {
	var body struct {
		Model    string  `json:"model"`
		Stream   bool    `json:"stream"`
		System   content `json:"system"`
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	r.Model, r.Stream, r.System = body.Model, body.Stream, body.System.text()
	for _, t := range body.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range body.Messages {
		if m.Role == "assistant" {
			r.Results = nil
		}
		if m.Role == "user" {
			r.readUserMessage(m.Content)
		}
	}
	return nil
}

// readUserMessage takes the results of tools and the text that follows them.
// A message of results alone leaves the user's text as it was, and so do
// reminders, which agents send in the same message.
func (r *Request) readUserMessage(c content) {
	var words content
	for _, p := range c {
		if p.Type == "tool_result" {
			r.Results = append(r.Results, textIn(p.Content))
			continue
		}
		if reminders.ReplaceAllString(p.Text, "") != "" {
			words = append(words, p)
		}
	}
	if text := words.text(); text != "" {
		r.Text = text
	}
}

// messagesAnswer is a reply in Anthropic's dialect.
type messagesAnswer struct {
	id    string
	model string
	reply Reply
	calls []string // ids, one for each call
}

func (s *Server) messagesAnswer(req *Request, r Reply) answer {
	a := &messagesAnswer{id: s.id("msg"), model: req.Model, reply: r}
	for range r.Calls {
		a.calls = append(a.calls, s.id("toolu"))
	}
	return a
}

func (a *messagesAnswer) stop() string {
	if len(a.calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (a *messagesAnswer) usage(output int) object {
	return object{
		"input_tokens": a.reply.usage().Input, "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func (a *messagesAnswer) message(content []object, stop any, output int) object {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": a.usage(output),
	}
}

func (a *messagesAnswer) plain() object {
	content := []object{}
	if a.reply.Think != "" {
		content = append(content, object{"type": "thinking", "thinking": a.reply.Think, "signature": signature})
	}
	if text := a.reply.text(); text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for i, c := range a.reply.Calls {
		content = append(content, object{"type": "tool_use", "id": a.calls[i], "name": c.Name, "input": c.Input})
	}
	return a.message(content, a.stop(), a.reply.usage().Output)
}

// signature stands for what the vendor signs thoughts with.
const signature = "c3R1Yg=="

func (a *messagesAnswer) stream(s *stream) {
	b := &blocks{stream: s}
	s.event("message_start", object{"type": "message_start", "message": a.message([]object{}, nil, 1)})
	if a.reply.Think != "" {
		b.open(object{"type": "thinking", "thinking": "", "signature": ""})
		b.delta(object{"type": "thinking_delta", "thinking": a.reply.Think})
		b.delta(object{"type": "signature_delta", "signature": signature})
		b.close()
	}
	if len(a.reply.Text) > 0 {
		b.open(object{"type": "text", "text": ""})
	}
	goesOn := s.text(a.reply, func(chunk string) {
		b.delta(object{"type": "text_delta", "text": chunk})
	}, func() {
		s.event("error", object{"type": "error", "error": messagesError(Failure{Status: 529, Message: "Overloaded"})})
	})
	if !goesOn {
		return
	}
	if len(a.reply.Text) > 0 {
		b.close()
	}
	for i, c := range a.reply.Calls {
		b.open(object{"type": "tool_use", "id": a.calls[i], "name": c.Name, "input": object{}})
		b.delta(object{"type": "input_json_delta", "partial_json": string(c.Input)})
		b.close()
	}
	s.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": a.stop(), "stop_sequence": nil}, "usage": a.usage(a.reply.usage().Output),
	})
	s.event("message_stop", object{"type": "message_stop"})
}

// blocks numbers the parts of a streamed message.
type blocks struct {
	stream *stream
	index  int
}

func (b *blocks) open(block object) {
	b.stream.event("content_block_start", object{"type": "content_block_start", "index": b.index, "content_block": block})
}

func (b *blocks) delta(delta object) {
	b.stream.event("content_block_delta", object{"type": "content_block_delta", "index": b.index, "delta": delta})
}

func (b *blocks) close() {
	b.stream.event("content_block_stop", object{"type": "content_block_stop", "index": b.index})
	b.index++
}
