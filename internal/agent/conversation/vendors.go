package conversation

// sourceNames are what is read of each coding agent whose state has a source
// of its own, by the name of its preset.
var sourceNames = map[string]string{
	"claude":   "claude session file",
	"codex":    "codex app server",
	"copilot":  "copilot session files",
	"gemini":   "gemini window title",
	Harness:    "harness",
	"opencode": "opencode server",
}

// Harness is the name under which agents are known that a harness drives.
const Harness = "harness"

// SourceName says what the state of a preset's agent is read from before its
// screen, "" for nothing.
func SourceName(vendor string) string { return sourceNames[vendor] }
