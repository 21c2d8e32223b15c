package modelstub

import "maps"

// numbered writes the events of Responses, which carry their number.
type numbered struct {
	stream *stream
	next   int
}

func (n *numbered) event(kind string, v object) {
	v["type"], v["sequence_number"] = kind, n.next
	n.next++
	n.stream.event(kind, v)
}

func (a *responsesAnswer) stream(s *stream) {
	n := &numbered{stream: s}
	n.event("response.created", object{"response": a.response("in_progress", []object{})})
	n.event("response.in_progress", object{"response": a.response("in_progress", []object{})})
	// A reply without text breaks before its first item.
	if len(a.reply.Text) == 0 && !s.text(a.reply, func(string) {}, func() { a.failed(n) }) {
		return
	}
	for i, item := range a.items {
		switch item["type"] {
		case "message":
			if !a.streamText(n, i, item) {
				return
			}
		case "function_call":
			streamCall(n, i, item, "arguments", "response.function_call_arguments")
		case "custom_tool_call":
			streamCall(n, i, item, "input", "response.custom_tool_call_input")
		default:
			n.event("response.output_item.added", object{"output_index": i, "item": item})
		}
		n.event("response.output_item.done", object{"output_index": i, "item": item})
	}
	n.event("response.completed", object{"response": a.response("completed", a.items)})
}

// failed is how this dialect says that an answer broke.
func (a *responsesAnswer) failed(n *numbered) {
	r := a.response("failed", []object{})
	code := a.reply.Code
	if code == "" {
		code = "server_error"
	}
	r["error"] = object{"code": code, "message": "The server had an error"}
	n.event("response.failed", object{"response": r})
}

// streamText reports whether the answer goes on after the text.
func (a *responsesAnswer) streamText(n *numbered, index int, item object) bool {
	at := func(v object) object {
		v["output_index"], v["item_id"], v["content_index"] = index, item["id"], 0
		return v
	}
	begun := maps.Clone(item)
	begun["status"], begun["content"] = "in_progress", []object{}
	n.event("response.output_item.added", object{"output_index": index, "item": begun})
	n.event("response.content_part.added", at(object{"part": outputText("")}))
	goesOn := n.stream.text(a.reply, func(chunk string) {
		n.event("response.output_text.delta", at(object{"delta": chunk}))
	}, func() { a.failed(n) })
	if goesOn {
		n.event("response.output_text.done", at(object{"text": a.reply.text()}))
		n.event("response.content_part.done", at(object{"part": outputText(a.reply.text())}))
	}
	return goesOn
}

// streamCall writes a tool's use; field holds its input, kind is of its events.
func streamCall(n *numbered, index int, item object, field, kind string) {
	begun := maps.Clone(item)
	begun["status"], begun[field] = "in_progress", ""
	n.event("response.output_item.added", object{"output_index": index, "item": begun})
	n.event(kind+".delta", object{"output_index": index, "item_id": item["id"], "delta": item[field]})
	n.event(kind+".done", object{"output_index": index, "item_id": item["id"], field: item[field]})
}
