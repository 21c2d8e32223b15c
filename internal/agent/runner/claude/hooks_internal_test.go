package claude

import (
	"encoding/json"
	"reflect"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// The agent calls den before it uses a tool where somebody has rules, and before
// it compacts where it must not.
func TestHooksOf(t *testing.T) {
	check := func(permission.Request) (permission.Outcome, string) { return "", "" }
	for _, c := range []struct {
		options runner.Options
		want    string
	}{
		{runner.Options{}, `{}`},
		{runner.Options{KeepWhole: true}, `{"PreCompact":[{"hookCallbackIds":["den-compaction"]}]}`},
		{runner.Options{Check: check}, `{"PreToolUse":[{"hookCallbackIds":["den-tool"]}]}`},
	} {
		if got, err := json.Marshal(hooksOf(c.options)); err != nil || string(got) != c.want {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
}

// A use of a tool is judged by what it would do and where; one that cannot be
// read is denied.
func TestBeforeTool(t *testing.T) {
	var judged permission.Request
	s := &session{check: func(r permission.Request) (permission.Outcome, string) {
		judged = r
		switch r.Command {
		case "cat .env":
			return permission.Deny, "a secret"
		case "cat notes":
			return permission.Ask, "perhaps a secret"
		}
		return "", ""
	}}
	for _, c := range []struct{ input, command, want string }{
		{`{"tool_name":"Bash","tool_input":{"command":"cat .env"},"cwd":"/p"}`, "cat .env",
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"a secret"}}`},
		{`{"tool_name":"Bash","tool_input":{"command":"cat notes"},"cwd":"/p"}`, "cat notes",
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"perhaps a secret"}}`},
		{`{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/p"}`, "ls", `{"continue":true}`},
		{`{"cwd":"/p"}`, "", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"den cannot read which tool is to be used"}}`},
		{`"text"`, "", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"den cannot read which tool is to be used"}}`},
	} {
		judged = permission.Request{}
		got, err := json.Marshal(s.beforeTool("use", json.RawMessage(c.input)))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.input, got, err, c.want)
		}
		var want permission.Request
		if c.command != "" {
			var use toolUse
			if err := json.Unmarshal([]byte(c.input), &use); err != nil {
				t.Fatal(err)
			}
			want = permission.Request{Tool: "Bash", Kind: permission.Execute, Command: c.command, Dir: "/p", Input: use.Input}
		}
		if !reflect.DeepEqual(judged, want) {
			t.Errorf("%s: judged %+v", c.input, judged)
		}
	}
}
