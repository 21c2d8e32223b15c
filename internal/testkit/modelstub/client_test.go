package modelstub_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/modelstub"
)

// patience is for what takes no time unless something is wrong.
const patience = 2 * time.Minute

// event is one server-sent event.
type event struct {
	name string
	data map[string]any
	raw  string
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	events []event        // of a stream, up to where it broke
	body   map[string]any // of a plain answer, or nil if it is no JSON
	broken error          // how the body ended, if not well
}

func (a answer) last() event { return a.events[len(a.events)-1] }

var paths = map[modelstub.Dialect]string{
	modelstub.Messages: "/v1/messages", modelstub.Responses: "/v1/responses", modelstub.Chat: "/v1/chat/completions",
}

var dialects = []modelstub.Dialect{modelstub.Messages, modelstub.Responses, modelstub.Chat}

// question is a request that asks one thing.
func question(d modelstub.Dialect, text string, stream bool) string {
	key := "messages"
	if d == modelstub.Responses {
		key = "input"
	}
	body, err := json.Marshal(map[string]any{"model": "m", "stream": stream, key: []any{map[string]any{"role": "user", "content": text}}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func ask(t *testing.T, stub *modelstub.Server, d modelstub.Dialect, text string, stream bool) answer {
	t.Helper()
	return post(t, stub, paths[d], question(d, text, stream))
}

func post(t *testing.T, stub *modelstub.Server, path, body string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", stub.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{broken: err}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	data, err := io.ReadAll(res.Body)
	a.broken = err
	if res.Header.Get("Content-Type") == "text/event-stream" {
		a.events = parse(t, data)
		return a
	}
	if json.Unmarshal(data, &a.body) != nil && a.broken == nil {
		a.broken = fmt.Errorf("not JSON: %s", data)
	}
	return a
}

// parse reads a stream by the rules of server-sent events.
func parse(t *testing.T, data []byte) []event {
	t.Helper()
	var all []event
	var e event
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "":
			if json.Unmarshal([]byte(e.raw), &e.data) != nil {
				e.data = nil // garbage, or [DONE]
			}
			all = append(all, e)
			e = event{}
		case !ok:
			t.Errorf("a line of a stream is %q", lines.Text())
		case name == "event":
			e.name = value
		case name == "data":
			e.raw += value
		default:
			t.Errorf("a field of a stream is %q", name)
		}
	}
	return all
}

// at walks into JSON: at(v, "choices", 0, "delta").
func at(v any, path ...any) any {
	for _, key := range path {
		switch k := key.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// said puts together what a client of a dialect would show.
func said(d modelstub.Dialect, a answer) (text string, calls []string) {
	if a.events == nil {
		return saidPlain(d, a.body)
	}
	names, args := map[any]string{}, map[any]string{}
	var order []any
	call := func(key any, name, arguments any) {
		if s, ok := name.(string); ok {
			names[key] = s
			order = append(order, key)
		}
		s, _ := arguments.(string)
		args[key] += s
	}
	add := func(v any) { s, _ := v.(string); text += s }
	for _, e := range a.events {
		switch d {
		case modelstub.Messages:
			add(at(e.data, "delta", "text"))
			if index := at(e.data, "index"); e.name != "content_block_stop" && index != nil {
				call(index, at(e.data, "content_block", "name"), at(e.data, "delta", "partial_json"))
			}
		case modelstub.Responses:
			if e.name == "response.output_text.delta" {
				add(e.data["delta"])
			}
			if e.name == "response.output_item.done" {
				call(e.data["output_index"], at(e.data, "item", "name"), at(e.data, "item", "arguments"))
			}
		case modelstub.Chat:
			delta := at(e.data, "choices", 0, "delta")
			add(at(delta, "content"))
			if index := at(delta, "tool_calls", 0, "index"); index != nil {
				call(index, at(delta, "tool_calls", 0, "function", "name"), at(delta, "tool_calls", 0, "function", "arguments"))
			}
		}
	}
	for _, key := range order {
		calls = append(calls, names[key]+args[key])
	}
	return text, calls
}

func saidPlain(d modelstub.Dialect, body map[string]any) (text string, calls []string) {
	add := func(v any) { s, _ := v.(string); text += s }
	call := func(name, args any) {
		if name == nil {
			return
		}
		if s, ok := args.(string); ok {
			calls = append(calls, fmt.Sprint(name)+s)
			return
		}
		data, _ := json.Marshal(args)
		calls = append(calls, fmt.Sprint(name)+string(data))
	}
	switch d {
	case modelstub.Messages:
		for i := range 4 {
			part := at(body, "content", i)
			add(at(part, "text"))
			call(at(part, "name"), at(part, "input"))
		}
	case modelstub.Responses:
		for i := range 4 {
			item := at(body, "output", i)
			add(at(item, "content", 0, "text"))
			call(at(item, "name"), at(item, "arguments"))
		}
	case modelstub.Chat:
		message := at(body, "choices", 0, "message")
		add(at(message, "content"))
		for i := range 4 {
			call(at(message, "tool_calls", i, "function", "name"), at(message, "tool_calls", i, "function", "arguments"))
		}
	}
	return text, calls
}
