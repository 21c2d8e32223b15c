package toolhook_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/toolhook"
)

// Every vendor is told an outcome in its own words, and nothing where it has no
// word for it: codex would fail on one that it does not take.
func TestAnswer(t *testing.T) {
	tool := func(word string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + word + `","permissionDecisionReason":"why"}}`
	}
	for _, c := range []struct{ vendor, moment, allow, ask, deny string }{
		{"claude", toolhook.BeforeTool, tool("allow"), tool("ask"), tool("deny")},
		{"codex", toolhook.BeforeTool, "", "", tool("deny")},
		{"codex", toolhook.Unasked, "", tool("deny"), tool("deny")},
		{"codex", toolhook.OnRequest, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, "",
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"why"}}}`},
		{"copilot", toolhook.BeforeTool, `{"permissionDecision":"allow","permissionDecisionReason":"why"}`, `{"permissionDecision":"ask","permissionDecisionReason":"why"}`, `{"permissionDecision":"deny","permissionDecisionReason":"why"}`},
		{"another", toolhook.BeforeTool, "", "", ""},
	} {
		call := toolhook.Call{Vendor: c.vendor, Moment: c.moment}
		for outcome, want := range map[string]string{toolhook.Allow: c.allow, toolhook.Ask: c.ask, toolhook.Deny: c.deny, "": ""} {
			got := string(call.Answer(outcome, "why"))
			if got != want || got != "" && !json.Valid([]byte(got)) {
				t.Errorf("%s %s %s: %s, want %s", c.vendor, c.moment, outcome, got, want)
			}
		}
	}
}

// A call survives the shell in which programs run their hooks.
func TestLine(t *testing.T) {
	call := toolhook.Call{Vendor: "claude", Moment: toolhook.BeforeTool, Agent: "a b/c", Socket: `/run/it's "$HOME"\n`}
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+call.Line("/opt/d en")).Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if want := append([]string{"/opt/d en"}, call.Words()...); !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
	if got, ok := toolhook.ParseCall(words[2:]); !ok || got != call {
		t.Errorf("%+v, %v", got, ok)
	}
}
