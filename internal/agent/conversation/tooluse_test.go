package conversation_test

import (
	"encoding/json"
	"testing"

	"den/internal/agent/conversation"
)

// What a tool got is sent as JSON, whatever it was.
func TestToolUseAsJSON(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"ls"}`: `{"name":"Bash","input":{"command":"ls"}}`,
		"ls":               `{"name":"Bash","input":"ls"}`,
		"":                 `{"name":"Bash"}`,
	} {
		if got, err := json.Marshal(conversation.ToolUse{Name: "Bash", Input: input}); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", input, got, err)
		}
	}
}
