package claude

import "encoding/json"

// message is a line from the agent. Which fields it has depends on its type.
type message struct {
	Type            string `json:"type"`
	Subtype         string `json:"subtype"`
	SessionID       string `json:"session_id"`
	UUID            string `json:"uuid"`
	ParentToolUseID string `json:"parent_tool_use_id"` // of what a subagent does

	Message    *apiMessage  `json:"message"`          // of assistant and user
	Event      *streamEvent `json:"event"`            // of stream_event
	Replay     bool         `json:"isReplay"`         // of user: a prompt of ours
	Meta       []resultMeta `json:"tool_result_meta"` // of user
	CommandID  string       `json:"command_uuid"`     // of command_lifecycle: a prompt of ours
	State      string       `json:"state"`            // of command_lifecycle
	IsAPIError bool         `json:"is_api_error_message"`

	// Of result, and of assistant where it stands for an error.
	IsError        bool                  `json:"is_error"`
	APIErrorStatus int                   `json:"api_error_status"`
	Error          json.RawMessage       `json:"error"` // a word
	Errors         []string              `json:"errors"`
	TerminalReason string                `json:"terminal_reason"`
	Result         string                `json:"result"`
	Prompts        []string              `json:"user_message_uuids"` // that it answers
	Usage          *tokenUsage           `json:"usage"`
	TotalCost      float64               `json:"total_cost_usd"` // of the session, not of the turn
	TurnUsage      map[string]modelUsage `json:"model_usage_since_last_result"`
	ModelUsage     map[string]modelUsage `json:"modelUsage"` // of the session

	// Of system.
	Model        string          `json:"model"`           // of init
	ErrorStatus  int             `json:"error_status"`    // of api_retry
	RetryDelayMS int64           `json:"retry_delay_ms"`  // of api_retry
	Status       json.RawMessage `json:"status"`          // of status: a word
	RateLimit    *limit          `json:"rate_limit_info"` // of rate_limit_event

	// Of the control protocol.
	RequestID string          `json:"request_id"`
	Request   *toolRequest    `json:"request"`
	Response  controlResponse `json:"response"`
}

// errorWord is the kind of an API error, such as "rate_limit".
func (m *message) errorWord() string {
	var word string
	if json.Unmarshal(m.Error, &word) != nil {
		return "" // absent, or of another shape
	}
	return word
}

type apiMessage struct {
	ID      string      `json:"id"` // of the model's reply, of which this may be a part
	Model   string      `json:"model"`
	Content contentList `json:"content"`
	Usage   *tokenUsage `json:"usage"`
}

// UnmarshalJSON takes anything: system messages have a text in this place.
func (m *apiMessage) UnmarshalJSON(data []byte) error {
	type plain apiMessage
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, (*plain)(m))
}

// contentList is a text, or a list of blocks.
type contentList []contentBlock

func (c *contentList) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = contentList{{Type: "text", Text: text}}
		return nil
	}
	var blocks []contentBlock
	err := json.Unmarshal(data, &blocks)
	*c = blocks
	return err
}

type contentBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`

	ToolUseID string      `json:"tool_use_id"` // of tool_result
	IsError   bool        `json:"is_error"`
	Content   contentList `json:"content"`
}

type resultMeta struct {
	ID               string `json:"id"`
	NonExecutionKind string `json:"non_execution_kind"`
	Decision         struct {
		Decision string `json:"decision"`
	} `json:"permission_decision"`
}

func (r resultMeta) denied() bool { return r.NonExecutionKind != "" || r.Decision.Decision == "reject" }

type streamEvent struct {
	Type  string      `json:"type"`
	Usage *tokenUsage `json:"usage"` // of message_delta: of the whole message
	Delta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"delta"`
}

type tokenUsage struct {
	Input       int64 `json:"input_tokens"`
	CacheWrites int64 `json:"cache_creation_input_tokens"`
	CacheReads  int64 `json:"cache_read_input_tokens"`
	Output      int64 `json:"output_tokens"`
}

// context is how much of the model's context they take.
func (u tokenUsage) context() int64 { return u.Input + u.CacheWrites + u.CacheReads + u.Output }

type modelUsage struct {
	Input       int64   `json:"inputTokens"`
	CacheWrites int64   `json:"cacheCreationInputTokens"`
	CacheReads  int64   `json:"cacheReadInputTokens"`
	Output      int64   `json:"outputTokens"`
	Cost        float64 `json:"costUSD"`
	Window      int64   `json:"contextWindow"`
}

// limit is the state of a plan's limit.
type limit struct {
	Status   string `json:"status"` // "allowed", "allowed_warning", "rejected"
	ResetsAt int64  `json:"resetsAt"`
}

// toolRequest is what the agent asks den. Other subtypes than can_use_tool, and
// hook_callback of den's own hooks, are refused.
type toolRequest struct {
	Subtype     string          `json:"subtype"`
	ToolName    string          `json:"tool_name"`
	Input       json.RawMessage `json:"input"`
	Description string          `json:"description"`
	BlockedPath string          `json:"blocked_path"`
	ToolUseID   string          `json:"tool_use_id"`
	CallbackID  string          `json:"callback_id"` // of hook_callback
}

type controlResponse struct {
	Subtype   string `json:"subtype"` // "success" or "error"
	RequestID string `json:"request_id"`
	Error     string `json:"error,omitempty"`
	Response  struct {
		StillQueued []string `json:"still_queued"` // of interrupt
		Window      int64    `json:"maxTokens"`    // of get_context_usage
		RawWindow   int64    `json:"rawMaxTokens"` // of get_context_usage: with what the agent keeps free
	} `json:"response"`
}

// What den sends.

type controlRequest struct {
	Type      string         `json:"type"` // "control_request"
	RequestID string         `json:"request_id"`
	Request   map[string]any `json:"request"`
}

type controlReply struct {
	Type     string      `json:"type"` // "control_response"
	Response replyToTool `json:"response"`
}

type replyToTool struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error,omitempty"`
	Response  any    `json:"response,omitempty"`
}

type userMessage struct {
	Type            string  `json:"type"` // "user"
	Message         userSay `json:"message"`
	ParentToolUseID *string `json:"parent_tool_use_id"`
	SessionID       string  `json:"session_id"`
	UUID            string  `json:"uuid"`
}

type userSay struct {
	Role    string         `json:"role"` // "user"
	Content []contentPiece `json:"content"`
}

type contentPiece struct {
	Type string `json:"type"` // "text"
	Text string `json:"text"`
}
