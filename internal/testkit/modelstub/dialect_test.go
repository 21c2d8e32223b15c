package modelstub_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"den/internal/testkit/modelstub"
)

// eachDialect runs a test in all dialects, streaming and plain.
func eachDialect(t *testing.T, test func(t *testing.T, d modelstub.Dialect, stream bool)) {
	for _, d := range dialects {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", d, stream), func(t *testing.T) { test(t, d, stream) })
		}
	}
}

func TestSaysAndUsesTools(t *testing.T) {
	eachDialect(t, func(t *testing.T, d modelstub.Dialect, stream bool) {
		stub := modelstub.Start(t)
		reply := modelstub.Use("Bash", `{"command":"ls"}`)
		reply.Text = []string{"I ", "look ", "\"around\"."}
		reply.Think = "hm"
		reply.Calls = append(reply.Calls, modelstub.Call{Name: "Read", Input: []byte(`{"path":"/x"}`)})
		stub.Next(reply, modelstub.Say("done"))
		a := ask(t, stub, d, "hi", stream)
		text, calls := said(d, a)
		if a.status != 200 || text != `I look "around".` || !slices.Equal(calls, []string{`Bash{"command":"ls"}`, `Read{"path":"/x"}`}) {
			t.Errorf("status %d, %q, %q\n%+v", a.status, text, calls, a)
		}
		if text, calls := said(d, ask(t, stub, d, "and", stream)); text != "done" || calls != nil {
			t.Errorf("%q, %q", text, calls)
		}
	})
}

func TestEndsSayWhyAndHowMuch(t *testing.T) {
	ends := map[modelstub.Dialect][2][]any{ // where the stop is in a stream's event before the last, and in a plain answer
		modelstub.Messages: {{"delta", "stop_reason"}, {"stop_reason"}},
		modelstub.Chat:     {{"choices", 0, "finish_reason"}, {"choices", 0, "finish_reason"}},
	}
	stops := map[modelstub.Dialect][2]string{modelstub.Messages: {"end_turn", "tool_use"}, modelstub.Chat: {"stop", "tool_calls"}}
	for d, where := range ends {
		for i, reply := range []modelstub.Reply{modelstub.Say("x"), modelstub.Use("T", `{}`)} {
			stub := modelstub.Start(t)
			stub.Always(modelstub.Any, reply)
			s := ask(t, stub, d, "hi", true)
			if got := at(s.events[len(s.events)-2].data, where[0]...); got != stops[d][i] {
				t.Errorf("%s streams the stop %v, want %s", d, got, stops[d][i])
			}
			if got := at(ask(t, stub, d, "hi", false).body, where[1]...); got != stops[d][i] {
				t.Errorf("%s says the stop %v, want %s", d, got, stops[d][i])
			}
		}
	}
	stub := modelstub.Start(t)
	stub.Always(modelstub.Any, modelstub.Reply{Text: []string{"x"}, Usage: modelstub.Usage{Input: 700, Output: 30}})
	last := ask(t, stub, modelstub.Responses, "hi", true).last()
	if last.name != "response.completed" || at(last.data, "response", "status") != "completed" || at(last.data, "response", "usage", "total_tokens") != 730.0 {
		t.Errorf("%+v", last)
	}
	s := ask(t, stub, modelstub.Messages, "hi", true)
	if at(s.events[0].data, "message", "usage", "input_tokens") != 700.0 || at(s.events[len(s.events)-2].data, "usage", "output_tokens") != 30.0 {
		t.Errorf("%+v", s.events)
	}
	s = ask(t, stub, modelstub.Chat, "hi", true)
	if s.last().raw != "[DONE]" || at(s.events[len(s.events)-2].data, "usage", "total_tokens") != 730.0 {
		t.Errorf("%+v", s.events)
	}
}

// Clients of Messages check that blocks are opened, filled and closed in turn,
// those of Responses that events are numbered.
func TestStreamsAreInOrder(t *testing.T) {
	stub := modelstub.Start(t)
	reply := modelstub.Use("T", `{"a":1}`)
	reply.Think, reply.Text = "hm", []string{"a", "b"}
	stub.Always(modelstub.Any, reply)
	var got []string
	for _, e := range ask(t, stub, modelstub.Messages, "hi", true).events {
		if e.data["type"] != e.name {
			t.Errorf("the event %s has the type %v", e.name, e.data["type"])
		}
		name := e.name
		if index, ok := e.data["index"]; ok {
			name = fmt.Sprintf("%s %v", name, index)
		}
		got = append(got, name)
	}
	want := []string{
		"message_start",
		"content_block_start 0", "content_block_delta 0", "content_block_delta 0", "content_block_stop 0",
		"content_block_start 1", "content_block_delta 1", "content_block_delta 1", "content_block_stop 1",
		"content_block_start 2", "content_block_delta 2", "content_block_stop 2",
		"message_delta", "message_stop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("messages:\n%q, want\n%q", got, want)
	}
	for i, e := range ask(t, stub, modelstub.Responses, "hi", true).events {
		if e.data["sequence_number"] != float64(i) || e.data["type"] != e.name {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

// Agents group the tools of MCP servers, which are called by group and name,
// and have tools that take text; codex lists them among the input.
func TestToolsOfOtherKinds(t *testing.T) {
	stub := modelstub.Start(t)
	reply := modelstub.Use("mcp__files__read", `{}`)
	reply.Calls = append(reply.Calls, modelstub.Call{Name: "exec", Input: []byte(`"text(1)"`)})
	stub.Always(modelstub.All(modelstub.Contains("hi"), modelstub.Offers("exec"), modelstub.Offers("mcp__files__read")), reply)
	const body = `{"stream":%v,"tools":[{"type":"function","name":"shell"}],"input":[
		{"type":"additional_tools","role":"developer","tools":[
			{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]},
			{"type":"namespace","name":"mcp__files","tools":[{"type":"function","name":"read"}]}]},
		{"role":"user","content":"hi"}]}`
	check := func(items any) {
		t.Helper()
		if at(items, 0, "type") != "function_call" || at(items, 0, "namespace") != "mcp__files" || at(items, 0, "name") != "read" {
			t.Errorf("%v", items)
		}
		if at(items, 1, "type") != "custom_tool_call" || at(items, 1, "input") != "text(1)" || at(items, 1, "name") != "exec" || at(items, 1, "namespace") != nil {
			t.Errorf("%v", items)
		}
	}
	check(at(post(t, stub, "/v1/responses", fmt.Sprintf(body, false)).body, "output"))
	check(at(post(t, stub, "/v1/responses", fmt.Sprintf(body, true)).last().data, "response", "output"))
	if r := stub.Requests()[0]; !slices.Equal(r.Tools, []string{"shell", "exec", "mcp__files__read"}) {
		t.Errorf("%q", r.Tools)
	}
}

func TestAnswersBeside(t *testing.T) {
	stub := modelstub.Start(t)
	get := func(method, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, stub.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for request, want := range map[[2]string]int{
		{"GET", "/v1/models"}: 200, {"HEAD", "/"}: 204, {"GET", "/"}: 204, {"POST", "/api/event_logging/batch"}: 204,
		{"POST", "/v1/metrics"}: 204, {"GET", "/api/unknown"}: 404, {"GET", "/v1/messages"}: 404,
	} {
		if got := get(request[0], request[1]); got != want {
			t.Errorf("%v gets %d, want %d", request, got, want)
		}
	}
	if a := post(t, stub, "/v1/messages/count_tokens", `{}`); a.body["input_tokens"] != 10.0 {
		t.Errorf("%+v", a)
	}
	for _, r := range stub.Requests() {
		if r.Dialect != "" {
			t.Errorf("%s %s is taken for a question in %s", r.Method, r.Path, r.Dialect)
		}
	}
	for _, d := range dialects {
		if a := post(t, stub, paths[d], `{"messages": 7, "input": 7}`); a.status != 400 {
			t.Errorf("%s answers what it cannot read with %d", d, a.status)
		}
	}
}
