package eventlog

import "encoding/json"

// An ActivityNote says what the program does, as its host found when the output
// paused. It is logged as a Note when it changes.
type ActivityNote struct {
	Activity string `json:"activity"` // waiting (for input) or working
	// Guess says that the kernel does not tell: the program is silent and reads
	// the terminal.
	Guess bool `json:"guess,omitempty"`
}

// activityNoteJSON is an activity note among the other notes.
type activityNoteJSON struct {
	Program *ActivityNote `json:"program"`
}

// Encode returns the data of the event.
func (n ActivityNote) Encode() []byte {
	b, _ := json.Marshal(activityNoteJSON{&n}) // a string and a bool: cannot fail
	return b
}

// ActivityNote returns what the program does, if e says so.
func (e Event) ActivityNote() (ActivityNote, bool) {
	if e.Code != Note {
		return ActivityNote{}, false
	}
	var n activityNoteJSON
	if json.Unmarshal(e.Data, &n) != nil || n.Program == nil {
		return ActivityNote{}, false
	}
	return *n.Program, true
}
