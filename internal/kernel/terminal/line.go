package terminal

import "den/internal/vt"

// A Line is a line of a terminal as it is shown to the agent. A line that
// needed several rows is one again.
type Line struct {
	Text string `json:"text"`
	// Again says that this is the line that was shown last before, as it stands
	// now: a prompt with the command behind it, or a progress bar.
	Again bool `json:"again,omitempty"`
	// Redrawn says that the program went back and wrote to a line that was
	// shown before, other than the last.
	Redrawn bool `json:"redrawn,omitempty"`
	// Joined says that the text continues the line before it: a very long line
	// comes in parts.
	Joined bool `json:"joined,omitempty"`
}

// appendRow appends a row's text. Blanks that the program wrote are kept; cells
// that it never wrote at the end of the row are not.
func appendRow(b []byte, row vt.Row) []byte {
	begin := len(b)
	if b = row.AppendText(b); isWhole(row, b[begin:]) {
		return b
	}
	b = b[:begin]
	end := begin
	for col := range row.Len() {
		if row.Width(col) == 0 {
			continue // the second half of a wide character
		}
		n := len(b)
		if b = row.AppendCell(b, col); len(b) == n {
			b = append(b, ' ')
			continue
		}
		end = len(b)
	}
	return b[:end]
}

// isWhole reports whether a row's text without trailing blanks is all that was
// written. That is so for nearly every row, and cheap to tell for ASCII.
func isWhole(row vt.Row, text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return len(text) == row.Len() || len(row.AppendCell(nil, len(text))) == 0
}

func isBlank(row vt.Row) bool { return row.TextLen() == 0 }
