package claude

import (
	"encoding/json"
	"slices"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

// The names of den's hooks, when it asks for them and when the agent calls them.
const (
	compactionHook = "den-compaction"
	toolHook       = "den-tool"
)

// hooksOf are the moments at which the agent calls den before it goes on.
func hooksOf(o runner.Options) map[string]any {
	hooks := map[string]any{}
	if o.KeepWhole {
		hooks["PreCompact"] = hookOf(compactionHook)
	}
	if o.Check != nil {
		hooks["PreToolUse"] = hookOf(toolHook)
	}
	return hooks
}

func hookOf(id string) []map[string]any { return []map[string]any{{"hookCallbackIds": []string{id}}} }

// called answers a call of one of den's hooks. It reports whether it was one.
func (s *session) called(m *message) bool {
	if m.Request == nil || m.Request.Subtype != "hook_callback" {
		return false
	}
	switch id := m.Request.CallbackID; {
	case id == compactionHook:
		s.compacting(m)
	case id == toolHook && s.check != nil:
		s.replies.Send(controlReply{Type: "control_response", Response: replyToTool{
			Subtype: "success", RequestID: m.RequestID, Response: s.beforeTool(m.Request.ToolUseID, m.Request.Input),
		}})
	default:
		return false
	}
	return true
}

// noCompaction is the answer to that question.
type noCompaction struct {
	Continue bool   `json:"continue"`
	Decision string `json:"decision"` // "block"
	Reason   string `json:"reason"`
	Stop     string `json:"stopReason"`
}

// compacting refuses that the agent shortens the conversation, and tells.
func (s *session) compacting(m *message) {
	const why = "the conversation is kept whole"
	s.replies.Send(controlReply{Type: "control_response", Response: replyToTool{
		Subtype: "success", RequestID: m.RequestID, Response: noCompaction{Decision: "block", Reason: why, Stop: why},
	}})
	s.relay.Pass(m) // outside a turn nobody wants to know
}

// toolUse is the input of the hook before a tool is used.
type toolUse struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
	Dir   string          `json:"cwd"`
}

// goOn is the answer of a hook that has no objection: the agent asks for what it
// would have asked for.
type goOn struct {
	Continue bool `json:"continue"` // true
}

// objection is the answer of a hook that has one.
type objection struct {
	Output objectionOutput `json:"hookSpecificOutput"`
}

type objectionOutput struct {
	Event    string `json:"hookEventName"`      // "PreToolUse"
	Decision string `json:"permissionDecision"` // "deny" or "ask"
	Reason   string `json:"permissionDecisionReason"`
}

// beforeTool has the policy's rules judge every use of a tool: the agent does
// not ask for what it takes for harmless, such as reading in its directory, nor
// for what its own settings allow.
func (s *session) beforeTool(id string, raw json.RawMessage) any {
	var use toolUse
	if err := json.Unmarshal(raw, &use); err != nil || use.Tool == "" {
		return objectionOf("deny", "den cannot read which tool is to be used")
	}
	request := RequestOf(use.Tool, use.Input)
	request.Dir = use.Dir
	s.noteDir(usedIn{id, use.Dir})
	switch outcome, why := s.check(request); outcome {
	case permission.Deny:
		return objectionOf("deny", why)
	case permission.Ask:
		return objectionOf("ask", why)
	}
	return goOn{Continue: true}
}

// usedIn is the directory in which a tool is used. Only the hook is told of it,
// and the shell of the agent stays where a command went.
type usedIn struct{ id, dir string }

const maxDirs = 64 // of uses that wait for a decision at the same time; more than agents begin

func (s *session) noteDir(u usedIn) {
	s.dirs = append(s.dirs, u)
	if len(s.dirs) > maxDirs {
		s.dirs = slices.Clone(s.dirs[1:])
	}
}

// dirOf is the directory of a use, "" where the hook was not called for it.
func (s *session) dirOf(id string) string {
	for _, u := range slices.Backward(s.dirs) {
		if u.id == id && id != "" {
			return u.dir
		}
	}
	return ""
}

func objectionOf(decision, reason string) objection {
	return objection{Output: objectionOutput{Event: "PreToolUse", Decision: decision, Reason: reason}}
}
