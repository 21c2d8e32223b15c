package outbox

import (
	"time"

	"den/internal/agent/conversation"
)

// Sending is a message that is being sent: after a crash, perhaps sent. It
// stands between conversation.Queued and the rest, and goes back to Queued
// only where the message was certainly not sent.
const Sending Status = "sending"

// Status is how far a message has come: one of conversation.Progress, or
// Sending.
type Status = conversation.Progress

// A Message is text for an agent, as it is kept on disk.
type Message struct {
	Version int `json:"v"`
	// ID is the caller's, or made here. Two messages of one agent never share
	// one.
	ID       string    `json:"id"`
	Key      string    `json:"key,omitempty"` // orders messages by time and names the file; the ID in old records
	Text     string    `json:"text"`
	Status   Status    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // what it waits for, or the evidence of its end
	First    bool      `json:"first,omitempty"`  // of the agent's start
	Urgent   bool      `json:"urgent,omitempty"` // before those whose sending has not begun
	Attempts int       `json:"attempts"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	// Handed is when the last attempt to hand it over began, zero before.
	Handed time.Time `json:"handed,omitzero"`
	// Before is the hash of the screen that it was typed at: whoever finds the
	// same screen after a crash knows that nothing was typed.
	Before string `json:"before,omitempty"`
	// Expect is what may still show that the agent took it, where Status is
	// conversation.Sent, and Life the start of the session that it was sent to,
	// or is being sent to.
	Expect Expect `json:"expect,omitempty"`
	Life   string `json:"life,omitempty"`

	// Route says where the answer goes; Answer is it, once the turn is over,
	// and Delivered that it went there. They are the harness's.
	Route     string `json:"route,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Delivered bool   `json:"delivered,omitempty"`
	// Failures counts the attempts that failed, by why.
	Failures map[string]int `json:"failures,omitempty"`
	// TakenIn is the agent's session in which it last took the message.
	TakenIn string `json:"taken_in,omitempty"`

	// Forgotten says that only its id and how it ended are still known.
	Forgotten bool `json:"-"`
}

// Expect names evidence that may come later. The values are stored: add, never
// rename.
type Expect string

// What a message that was sent may wait for.
const (
	ExpectRead   Expect = "read"   // the program reads its input
	ExpectSource Expect = "source" // the agent's own protocol shows the message
)

// Receipt is the message's claim.
func (m Message) Receipt() conversation.Receipt {
	return conversation.Receipt{ID: m.ID, Progress: m.Status, Evidence: m.Reason, At: m.Updated}
}

// isOldStatus reports a word of earlier dens for a message that was sent. Neither
// had more evidence than the screen.
func isOldStatus(s Status) bool { return s == "delivered" || s == "unconfirmed" }
