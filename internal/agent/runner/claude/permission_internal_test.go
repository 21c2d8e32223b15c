package claude

import (
	"encoding/json"
	"reflect"
	"testing"

	"den/internal/agent/permission"
)

func TestRequestOf(t *testing.T) {
	for _, c := range []struct {
		tool, input, blocked string
		want                 permission.Request
	}{
		{"Bash", `{"command":"ls","description":"list"}`, "", permission.Request{Kind: permission.Execute, Command: "ls", Text: "list"}},
		{"Bash", `{"command":"touch /etc/x"}`, "/etc/x", permission.Request{Kind: permission.Execute, Command: "touch /etc/x", Paths: []string{"/etc/x"}}},
		{"Write", `{"file_path":"a.txt","content":"x"}`, "a.txt", permission.Request{Kind: permission.Edit, Paths: []string{"a.txt"}}},
		{"NotebookEdit", `{"notebook_path":"a.ipynb"}`, "", permission.Request{Kind: permission.Edit, Paths: []string{"a.ipynb"}}},
		{"Read", `{"file_path":"/etc/passwd"}`, "", permission.Request{Kind: permission.Read, Paths: []string{"/etc/passwd"}}},
		{"Grep", `{"pattern":"secret","path":"/"}`, "", permission.Request{Kind: permission.Read, Paths: []string{"/"}, Text: "secret"}},
		{"WebFetch", `{"url":"https://example.org/","prompt":"read"}`, "", permission.Request{Kind: permission.Fetch, URL: "https://example.org/"}},
		{"WebSearch", `{"query":"plums"}`, "", permission.Request{Kind: permission.Fetch, Text: "plums"}},
		{"ExitPlanMode", `{"plan":"x"}`, "", permission.Request{Kind: permission.Think}},
		{"AskUserQuestion", `{"questions":[{"question":"one?"},{"question":"two?"}]}`, "", permission.Request{Kind: permission.Question, Text: "one?\ntwo?"}},
		{"AskUserQuestion", `{"questions":[{"question":"one?","options":[{"label":"a","description":"x"},{"label":"b"}]}]}`, "", permission.Request{Kind: permission.Question, Text: "one?", Choices: []string{"a", "b"}}},
		{"mcp__shell__run", `{"command":"rm -r /"}`, "", permission.Request{Kind: permission.Execute, Command: "rm -r /"}}, // what runs a command runs a command
		{"Unheard", `{"x":1}`, "", permission.Request{Kind: permission.Other}},
		{"Bash", `{"command":["not","text"]}`, "", permission.Request{Kind: permission.Execute}},
	} {
		c.want.Tool, c.want.Input = c.tool, json.RawMessage(c.input)
		got := requestOf(&toolRequest{ToolName: c.tool, Input: json.RawMessage(c.input), BlockedPath: c.blocked})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, want %+v", c.tool, c.input, got, c.want)
		}
	}
}

func TestAnswerTo(t *testing.T) {
	question := `{"questions":[{"question":"one?"}]}`
	for _, c := range []struct {
		tool, input string
		decision    permission.Decision
		want        string
	}{
		{"Bash", `{"command":"ls"}`, permission.Decision{Allow: true}, `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		{"Bash", ``, permission.Decision{Allow: true}, `{"behavior":"allow","updatedInput":{}}`},
		{"Bash", `{"command":"ls"}`, permission.Decision{Allow: true, Always: true}, `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		{"Bash", `{}`, permission.Decision{}, `{"behavior":"deny","message":"permission was denied","interrupt":false}`},
		{"Bash", `{}`, permission.Decision{Reason: "no", Interrupt: true}, `{"behavior":"deny","message":"no","interrupt":true}`},
		{"AskUserQuestion", question, permission.Decision{Allow: true, Answer: "yes"}, `{"behavior":"allow","updatedInput":{"answers":{"one?":"yes"},"questions":[{"question":"one?"}]}}`},
		{"AskUserQuestion", question, permission.Decision{Allow: true}, `{"behavior":"deny","message":"nobody answered: decide by yourself, or ask in your reply","interrupt":false}`},
		{"AskUserQuestion", question, permission.Decision{Reason: "later"}, `{"behavior":"deny","message":"later","interrupt":false}`},
	} {
		got, err := json.Marshal(answerTo(&toolRequest{ToolName: c.tool, Input: json.RawMessage(c.input)}, c.decision))
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %+v: %s, %v, want %s", c.tool, c.decision, got, err, c.want)
		}
	}
}
