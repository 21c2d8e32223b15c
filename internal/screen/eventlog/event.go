package eventlog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Event codes. The first group is asciicast's, the second den's own, which
// players skip. Unknown codes are kept and passed on.
const (
	Output = "o" // what the program wrote, as text
	Input  = "i" // what was typed, as text
	Resize = "r" // "COLSxROWS"
	Mark   = "m" // a label
	Exit   = "x" // the exit status, in decimal

	OutputBytes = "b" // output that is not valid UTF-8; base64 on disk
	InputBytes  = "B" // input that is not valid UTF-8; base64 on disk
	Hidden      = "h" // input that was not recorded: {"bytes":n}
	Cell        = "c" // a cell's start or end, as JSON text
	Signal      = "s" // a signal sent to the program, by name
	Note        = "n" // a word by the host, as JSON text
	Clear       = "k" // the scrollback was cleared, not by the program
)

// An Event is one line of the log.
type Event struct {
	Seq     uint64        // a repaint has the number of the last event before it
	Time    time.Duration // since the session's start
	Code    string
	Data    []byte // decoded; valid until the iterator's next step
	Repaint bool   // the whole terminal, as it was when a segment began
}

// Output returns the bytes that the program wrote, if e is output or a repaint.
func (e Event) Output() ([]byte, bool) {
	if e.Code == Output || e.Code == OutputBytes {
		return e.Data, true
	}
	return nil, false
}

// Input returns the bytes that were typed, if e is recorded input.
func (e Event) Input() ([]byte, bool) {
	if e.Code == Input || e.Code == InputBytes {
		return e.Data, true
	}
	return nil, false
}

// Size returns the new size, if e is a valid resize.
func (e Event) Size() (cols, rows int, ok bool) {
	if e.Code != Resize {
		return 0, 0, false
	}
	return parseSize(string(e.Data))
}

// A Position is a point in a session: the number and the time of an event.
type Position struct {
	Seq     uint64        `json:"seq"`
	Elapsed time.Duration `json:"elapsed_ns"`
}

// maxSide bounds a terminal's columns and rows: the kernel's winsize has 16 bits.
const maxSide = 65535

func parseSize(s string) (cols, rows int, ok bool) {
	c, r, found := strings.Cut(s, "x")
	if !found {
		return 0, 0, false
	}
	cols, errC := strconv.Atoi(c)
	rows, errR := strconv.Atoi(r)
	if errC != nil || errR != nil || cols < 1 || rows < 1 || cols > maxSide || rows > maxSide {
		return 0, 0, false
	}
	return cols, rows, true
}

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

// unechoed is the data of a note before input that is recorded although the
// terminal shows it to nobody.
const unechoed = `{"input":{"echo":false}}`

// UnechoedNote returns the data of a Note that says that the next input is a
// secret: the terminal takes a line and does not echo it.
func UnechoedNote() []byte { return []byte(unechoed) }

// Unechoed reports whether e is such a note.
func (e Event) Unechoed() bool { return e.Code == Note && string(e.Data) == unechoed }

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
