package modelstub

import (
	"encoding/json"
	"strings"
	"time"
)

// responsesBody is a request of OpenAI's Responses.
type responsesBody struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Instructions string          `json:"instructions"`
	Input        json.RawMessage `json:"input"` // text, or a list of items
	Tools        []responsesTool `json:"tools"`
}

type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"` // of a namespace
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content content         `json:"content"`
	Output  json.RawMessage `json:"output"` // of a tool
	Tools   []responsesTool `json:"tools"`  // of "additional_tools": codex puts them there for newer models
}

func (r *Request) readResponses() error {
	var body responsesBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	r.Model, r.Stream, r.System = body.Model, body.Stream, body.Instructions
	r.offer(body.Tools)
	if json.Unmarshal(body.Input, &r.Text) == nil {
		return nil
	}
	var items []responsesItem
	if err := json.Unmarshal(body.Input, &items); err != nil {
		return err
	}
	for _, it := range items {
		r.readItem(it)
	}
	return nil
}

// offeredTool is how a tool wants to be called.
type offeredTool struct {
	space  string // or "": codex groups the tools of MCP servers so
	custom bool   // its input is text, not an object
}

// offer takes the client's tools. The names of grouped ones are joined, but for
// the group of those that are in none.
func (r *Request) offer(tools []responsesTool) {
	if r.offered == nil {
		r.offered = map[string]offeredTool{}
	}
	add := func(name, space, kind string) {
		r.Tools = append(r.Tools, name)
		r.offered[name] = offeredTool{space: space, custom: kind == "custom"}
	}
	for _, t := range tools {
		if t.Type != "namespace" {
			add(t.Name, "", t.Type)
			continue
		}
		for _, inner := range t.Tools {
			if t.Name == "functions" {
				add(inner.Name, "", inner.Type)
				continue
			}
			add(t.Name+"__"+inner.Name, t.Name, inner.Type)
		}
	}
}

func (r *Request) readItem(it responsesItem) {
	switch {
	case it.Type == "additional_tools":
		r.offer(it.Tools)
	case strings.HasSuffix(it.Type, "_call_output"):
		r.Results = append(r.Results, textIn(it.Output))
	case strings.HasSuffix(it.Type, "_call"), it.Role == "assistant":
		r.Results = nil
	case it.Role == "developer", it.Role == "system":
		r.System = joined(r.System, it.Content.text())
	case it.Role == "user":
		if text := it.Content.text(); strings.TrimSpace(reminders.ReplaceAllString(text, "")) != "" {
			r.Text = text
		}
	}
}

// responsesAnswer is a reply in the dialect of OpenAI's Responses.
type responsesAnswer struct {
	id      string
	model   string
	created int64
	reply   Reply
	items   []object // whole
}

func (s *Server) responsesAnswer(req *Request, r Reply) answer {
	a := &responsesAnswer{id: s.id("resp"), model: req.Model, created: time.Now().Unix(), reply: r}
	if r.Think != "" {
		a.items = append(a.items, object{
			"type": "reasoning", "id": s.id("rs"), "summary": []object{{"type": "summary_text", "text": r.Think}}, "encrypted_content": signature,
		})
	}
	if len(r.Text) > 0 {
		a.items = append(a.items, object{
			"type": "message", "id": s.id("msg"), "role": "assistant", "status": "completed", "content": []object{outputText(r.text())},
		})
	}
	for _, c := range r.Calls {
		a.items = append(a.items, s.callItem(req, c))
	}
	return a
}

// callItem is a tool to use: as the client offers it.
func (s *Server) callItem(req *Request, c Call) object {
	tool := req.offered[c.Name] // the zero value is a plain function
	item := object{"type": "function_call", "id": s.id("fc"), "call_id": s.id("call"), "name": c.Name, "status": "completed"}
	if tool.space != "" {
		item["namespace"], item["name"] = tool.space, strings.TrimPrefix(c.Name, tool.space+"__")
	}
	if tool.custom {
		var input string
		if err := json.Unmarshal(c.Input, &input); err != nil {
			panic(err) // the input of such a tool is a string: the test is wrong
		}
		item["type"], item["input"] = "custom_tool_call", input
		return item
	}
	item["arguments"] = string(c.Input)
	return item
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

// response is the object around the items.
func (a *responsesAnswer) response(status string, items []object) object {
	u := a.reply.usage()
	r := object{
		"id": a.id, "object": "response", "created_at": a.created, "model": a.model, "status": status, "output": items,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": false,
		"temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": []object{}, "usage": nil,
	}
	if status == "completed" {
		r["usage"] = object{
			"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.Input + u.Output,
		}
	}
	return r
}

func (a *responsesAnswer) plain() object { return a.response("completed", a.items) }
