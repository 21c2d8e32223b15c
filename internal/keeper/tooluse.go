package keeper

import "encoding/json"

// ToolUse asks what an agent that runs on a screen may do, for the hook that its
// program runs.
type ToolUse struct {
	Agent  string          `json:"agent"`
	Vendor string          `json:"vendor"`
	Moment string          `json:"moment"` // before-tool, before-tool-unasked or on-request
	Input  json.RawMessage `json:"input"`  // as the program told the hook
}

// Judged answers it.
type Judged struct {
	Outcome string `json:"outcome"` // allow, ask or deny; "" leaves it to the program
	Why     string `json:"why,omitempty"`
}
