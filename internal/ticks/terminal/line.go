package terminal

import "den/internal/screen/vt"

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

func isBlank(row vt.Row) bool { return row.TextLen() == 0 }
