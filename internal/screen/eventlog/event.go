package eventlog

import (
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
