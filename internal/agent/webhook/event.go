package webhook

import (
	"encoding/json"
	"strings"
	"time"

	"den/internal/base/fault"
)

// Event is what a receiver is told.
type Event struct {
	// ID is the same however often the event is sent. Send makes one where it
	// is "".
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Nick     string    `json:"nick"` // of the agent
	Time     time.Time `json:"time"`
	Severity Severity  `json:"severity"`
	Message  string    `json:"message"` // for people
	// Data is an object with what the type of event adds, or nil.
	Data json.RawMessage `json:"data,omitempty"`
	// Suppressed counts events of the same type and agent that were not sent
	// since the last one, because they came too fast.
	Suppressed int `json:"suppressed,omitempty"`

	// Topic tells events of one type and agent apart that are not to suppress
	// each other, as two questions. It is not sent.
	Topic string `json:"-"`
}

// The types of events. They are sent, and stand in configurations: add, never
// rename.
const (
	AgentSpiraling = "agent_spiraling" // it is stuck, and a person is needed
	AgentError     = "agent_error"
	AgentQuestion  = "agent_question" // it asks something
	AgentTimeout   = "agent_timeout"
	AgentComplete  = "agent_complete"
	AgentApproval  = "agent_approval" // it asks for permission
	AgentBudget    = "agent_budget"   // a limit is near, or reached
)

// Severity is how soon a person should look. The values are sent: add, never
// rename.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Error    Severity = "error"
	Critical Severity = "critical"
)

const (
	maxMessage = 4 << 10
	maxData    = 64 << 10
)

// check completes an event and refuses one that no receiver could read.
func (e *Event) check(now time.Time, newID func() string) error {
	if e.Type == "" {
		return fault.Errorf(fault.Internal, "send webhook: the event has no type")
	}
	if e.ID == "" {
		e.ID = newID()
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	if e.Severity == "" {
		e.Severity = Info
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	var object map[string]json.RawMessage
	if len(e.Data) > 0 && (len(e.Data) > maxData || json.Unmarshal(e.Data, &object) != nil) {
		return fault.Errorf(fault.Internal, "send webhook: the data of '%s' is no JSON object of at most %d bytes", e.Type, maxData)
	}
	return nil
}
