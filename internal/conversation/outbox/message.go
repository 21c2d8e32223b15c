package outbox

import "time"

// Status is how far a message has come. The values are stored: add, never
// rename.
type Status string

// The statuses. A message moves down this list, and back from Sending to
// Queued only where it was certainly not sent.
const (
	Queued      Status = "queued"
	Sending     Status = "sending"     // being sent: after a crash, perhaps sent
	Delivered   Status = "delivered"   // the screen showed that it went in
	Unconfirmed Status = "unconfirmed" // sent, but the screen did not show it
	Failed      Status = "failed"      // it cannot be sent at all
)

// Final reports whether nothing more will happen to the message.
func (s Status) Final() bool { return s != Queued && s != Sending }

// A Message is text for an agent, as it is kept on disk.
type Message struct {
	Version int `json:"v"`
	// ID is the caller's, or made here. Two messages of one agent never share
	// one.
	ID       string    `json:"id"`
	Key      string    `json:"key,omitempty"` // orders messages by time and names the file; the ID in old records
	Text     string    `json:"text"`
	Status   Status    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // what it waits for, or why it ended so
	First    bool      `json:"first,omitempty"`  // of the agent's start
	Attempts int       `json:"attempts"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	// Before is the hash of the screen that it was typed at: whoever finds the
	// same screen after a crash knows that nothing was typed.
	Before string `json:"before,omitempty"`
}
