package host

import (
	"strings"
	"testing"
)

// An editor that draws its lines again goes up and down in one write. Where it
// was in between must be seen, however the bytes arrive.
func TestPartsEndWhereTheCursorWentUp(t *testing.T) {
	for _, c := range []struct{ part, rest string }{
		{"plain text", ""},
		{"\x1b[2A", "again"},
		{"\x1b[A", "\x1b[1B"},
		{"one\x1b[1F", "two"},
		{"\x1b[3;4H", "\x1b[0m"},
		{"\x1b[3;4f", ""},
		{"\x1b[5d", "x"},
		{"\x1b[2J", "x"},
		{"\x1bM", "x"},
		{"\x1bc", "x"},
		{"\x1b[31mred\x1b[0m\x1b[K\x1b[18G", ""}, // these stay on their line
		{"\x1b[2", ""},                           // cut off: the next part tells
		{strings.Repeat("x", cellPart), "more"},
		{"\x1b]133;C;den=x\x1b\\", "output"},
	} {
		if n := partLen([]byte(c.part + c.rest)); n != len(c.part) {
			t.Errorf("partLen(%q) = %d, want %d", c.part+c.rest, n, len(c.part))
		}
	}
}
