package acp

import (
	"encoding/json"
	"errors"
)

// What agents send, as far as den uses it. The SDK's own decoders refuse a
// whole message when one element of it is of a kind that they do not know, and
// drop members that are not in the schema yet, such as a tool's name.

// decode reads what it can: a member of another type than expected is left out.
func decode(raw json.RawMessage, v any) error {
	err := json.Unmarshal(raw, v)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return nil
	}
	return err
}

// hello is the answer to initialize.
type hello struct {
	ProtocolVersion   int `json:"protocolVersion"`
	AgentCapabilities struct {
		LoadSession         bool `json:"loadSession"`
		SessionCapabilities struct {
			Resume json.RawMessage `json:"resume"` // an object where it can
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AgentInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	AuthMethods []authMethod `json:"authMethods"`
}

// opened is the answer to session/new, session/load and session/resume.
type opened struct {
	SessionID     string         `json:"sessionId"`
	ConfigOptions []configOption `json:"configOptions"`
	Models        struct {
		Current   string `json:"currentModelId"`
		Available []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
	Modes struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
}

// configOption is a setting of a session that the agent offers.
type configOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"` // text, or true and false
}

func (o configOption) current() string {
	var text string
	if json.Unmarshal(o.Current, &text) != nil {
		return string(o.Current)
	}
	return text
}

// notification is the parameters of session/update.
type notification struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

// update is one thing that happens within a turn, or beside one.
type update struct {
	Type      string `json:"sessionUpdate"`
	MessageID string `json:"messageId"`
	toolCall         // its Content is a block for pieces of messages
	Entries   []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	ConfigOptions []configOption `json:"configOptions"`
	Used          int64          `json:"used"` // of usage_update: tokens in the context
	Size          int64          `json:"size"` // of usage_update: tokens that fit
}

// cost is what the session has cost in USD, if the update tells.
func (u *update) cost() (usd float64, ok bool) {
	if u.Cost == nil || u.Cost.Currency != "USD" {
		return 0, false
	}
	return u.Cost.Amount, true
}

// toolCall is the use of a tool. Updates of it have what changed.
type toolCall struct {
	ID        string `json:"toolCallId"`
	Name      string `json:"name"` // not yet in the schema; some agents send it
	Title     string `json:"title"`
	Kind      string `json:"kind"`
	Status    string `json:"status"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta struct {
		ToolName string `json:"toolName"` // of Qwen Code
	} `json:"_meta"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Content   json.RawMessage `json:"content"`
}

// content is a block of text, or a part of what a tool made.
type content struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Content    json.RawMessage `json:"content"` // of "content"
	Path       string          `json:"path"`    // of "diff"
	TerminalID string          `json:"terminalId"`
}

// permissionParams are the parameters of session/request_permission.
type permissionParams struct {
	SessionID string   `json:"sessionId"`
	ToolCall  toolCall `json:"toolCall"`
	Options   []option `json:"options"`
}

// option is an answer that the agent offers to its question.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// promptResult is the answer to session/prompt.
type promptResult struct {
	StopReason string      `json:"stopReason"`
	Usage      *tokenUsage `json:"usage"`
	Meta       struct {
		Quota struct { // of Gemini CLI and its relatives
			Tokens *struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// tokenUsage counts a turn's tokens.
type tokenUsage struct {
	Input       int64 `json:"inputTokens"`
	Output      int64 `json:"outputTokens"`
	CachedRead  int64 `json:"cachedReadTokens"`
	CachedWrite int64 `json:"cachedWriteTokens"`
	Thought     int64 `json:"thoughtTokens"`
	Total       int64 `json:"totalTokens"`
}
