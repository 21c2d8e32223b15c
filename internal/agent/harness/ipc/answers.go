package ipc

import (
	"time"

	"den/internal/agent/conversation"
)

// Sent answers Send.
type Sent struct {
	Channel string `json:"channel"`
}

// Line is one message of a channel or of a person.
type Line struct {
	Seq  uint64    `json:"seq"`
	Nick string    `json:"nick"`
	Text string    `json:"text"`
	At   time.Time `json:"timestamp"`
	ID   string    `json:"msgid,omitempty"`
}

// Messages answers Read.
type Messages struct {
	Messages []Line `json:"messages"`
	Dropped  uint64 `json:"dropped,omitempty"` // older ones that are no longer kept
}

// Reply answers Ask.
type Reply struct {
	Nick string    `json:"nick"`
	Text string    `json:"text"`
	At   time.Time `json:"timestamp"`
}

// Person is somebody on the server.
type Person struct {
	Nick    string `json:"nick"`
	Account string `json:"account,omitempty"`
	Real    string `json:"real,omitempty"`
	Away    bool   `json:"away,omitempty"`

	Agent bool     `json:"agent,omitempty"` // one that den runs
	Tags  []string `json:"tags,omitempty"`  // of an agent
}

// People answers Who.
type People struct {
	People []Person `json:"people"`
}

// Joined answers Channels.
type Joined struct {
	Channels []string `json:"channels"`
}

// ChannelTopic answers Topic.
type ChannelTopic struct {
	Channel string `json:"channel"`
	Topic   string `json:"topic"`
}

// AgentStatus answers Status.
type AgentStatus struct {
	Running        bool     `json:"running"`
	Paused         bool     `json:"paused"`
	CircuitOpen    bool     `json:"circuit_open"`
	TurnCount      int      `json:"turn_count"`
	LastActivation *float64 `json:"last_activation"` // seconds since 1970, or null
	Activity       string   `json:"activity"`        // working, paused or idle
	Description    string   `json:"description"`

	// den's own.
	State     string                 `json:"state"`
	Since     time.Time              `json:"since,omitzero"` // of the state, where the harness knows it
	Why       string                 `json:"why,omitempty"`
	Failure   string                 `json:"failure,omitempty"` // the class of the last one, until a turn succeeds
	Question  *conversation.Question `json:"question,omitempty"`
	Pending   int                    `json:"pending"`
	SessionID string                 `json:"session_id,omitempty"`
	Connected bool                   `json:"connected"`        // to the server
	Budget    string                 `json:"budget,omitempty"` // how much of the tightest limit is used, for people

	BudgetLevel  string    `json:"budget_level,omitempty"` // ok, warned or exceeded
	BudgetUntil  time.Time `json:"budget_until,omitzero"`  // when turns begin again, where it is exceeded
	CircuitSince time.Time `json:"circuit_since,omitzero"` // when it opened, while CircuitOpen
	Supervisor   string    `json:"supervisor"`             // watching, or paused after it has called a person

	SupervisorError string `json:"supervisor_error,omitempty"` // why its last evaluation gave no verdict
}

// StateLine is what Watch sends with every change.
type StateLine struct {
	Type string `json:"type"` // TypeState
	AgentStatus
}

// Taken answers Prompt and Confirm.
type Taken struct {
	conversation.Receipt
	Found bool `json:"found"`
}
