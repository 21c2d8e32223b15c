package dashboard

import (
	"slices"
	"time"

	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
)

// A Frame is a session's screen at one moment.
type Frame struct {
	// Rev counts the frames of a followed session, from 1; a frame of the past has 0.
	Rev     uint64           `json:"rev"`
	Seq     uint64           `json:"seq"`               // of the last event that it shows
	Elapsed time.Duration    `json:"elapsed_ns"`        // of that event, since the session's start
	Exit    string           `json:"exit,omitempty"`    // the status, if the program had ended
	Missing []string         `json:"missing,omitempty"` // what of the log could not be read
	Screen  *screen.Snapshot `json:"screen"`
}

func newFrame(t *vt.Terminal, at eventlog.Position) *Frame {
	s := screen.Capture(t, 0)
	return &Frame{Seq: at.Seq, Elapsed: at.Elapsed, Screen: &s}
}

// A Delta is what turns one frame into the next.
type Delta struct {
	Rev     uint64        `json:"rev"`
	Base    uint64        `json:"base"`           // the revision that it changes; only meaningful without Full
	Full    bool          `json:"full,omitempty"` // Rows are all rows
	Seq     uint64        `json:"seq"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Exit    string        `json:"exit,omitempty"`
	Missing []string      `json:"missing,omitempty"`

	Cols       int            `json:"cols"`
	Height     int            `json:"rows"`
	Cursor     screen.Cursor  `json:"cursor"`
	Title      string         `json:"title"`
	AltScreen  bool           `json:"alt_screen"`
	Mouse      string         `json:"mouse,omitempty"` // as in screen.Snapshot
	Hash       string         `json:"screen_hash"`
	Foreground string         `json:"foreground"`
	Background string         `json:"background"`
	Palette    map[int]string `json:"palette,omitempty"` // the whole of it
	Rows       []RowChange    `json:"changed"`
}

// A RowChange is the new content of one row, counted from 0.
type RowChange struct {
	Row  int         `json:"row"`
	Line screen.Line `json:"line"`
}

// Diff returns what turns from into to; with a nil from, or another size, all
// of to.
func Diff(from, to *Frame) *Delta {
	s := to.Screen
	d := &Delta{
		Rev: to.Rev, Seq: to.Seq, Elapsed: to.Elapsed, Exit: to.Exit, Missing: to.Missing,
		Cols: s.Cols, Height: s.Rows, Cursor: s.Cursor, Title: s.Title, AltScreen: s.AltScreen, Mouse: s.Mouse, Hash: s.Hash,
		Foreground: s.Foreground, Background: s.Background, Palette: s.Palette,
		Rows: []RowChange{},
	}
	d.Full = from == nil || from.Screen.Cols != s.Cols || from.Screen.Rows != s.Rows
	if !d.Full {
		d.Base = from.Rev
	}
	for i, line := range s.Lines {
		if d.Full || !sameLine(from.Screen.Lines[i], line) {
			d.Rows = append(d.Rows, RowChange{Row: i, Line: line})
		}
	}
	return d
}

func sameLine(a, b screen.Line) bool {
	return a.Wrapped == b.Wrapped && a.Size == b.Size && slices.Equal(a.Images, b.Images) && slices.Equal(a.Runs, b.Runs)
}
