package eventlog

import "encoding/json"

// A TerminalNote is something that the program did to its terminal that no
// screen shows. It is logged as a Note.
type TerminalNote struct {
	Kind     string        `json:"kind"`            // one of the kinds below
	Title    string        `json:"title,omitempty"` // of a notification
	Text     string        `json:"text,omitempty"`  // of a notification; the selection of a clipboard
	Bytes    int           `json:"bytes,omitempty"` // written to the clipboard; what, is not logged again
	Progress *TerminalWork `json:"progress,omitempty"`
}

// TerminalWork is how far a program says it is.
type TerminalWork struct {
	State   string `json:"state"` // none, normal, error, unknown, paused
	Percent int    `json:"percent"`
}

// The kinds of terminal notes.
const (
	TerminalBell         = "bell"
	TerminalNotification = "notification"
	TerminalProgress     = "progress"
	TerminalClipboard    = "clipboard"
)

// terminalNoteJSON is a terminal note among the other notes.
type terminalNoteJSON struct {
	Terminal *TerminalNote `json:"terminal"`
}

// Encode returns the data of the event.
func (n TerminalNote) Encode() []byte {
	b, _ := json.Marshal(terminalNoteJSON{&n}) // strings and numbers: cannot fail
	return b
}

// TerminalNote returns the note of the terminal, if e is one.
func (e Event) TerminalNote() (TerminalNote, bool) {
	if e.Code != Note {
		return TerminalNote{}, false
	}
	var n terminalNoteJSON
	if json.Unmarshal(e.Data, &n) != nil || n.Terminal == nil {
		return TerminalNote{}, false
	}
	return *n.Terminal, true
}
