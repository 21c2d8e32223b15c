// Package vttest compares terminals in tests.
package vttest

import (
	"bytes"
	"fmt"
	"regexp"

	"den/internal/screen/vt"
)

// Diff returns "" when two terminals are equal, but for the numbers of the events
// that wrote them.
func Diff(a, b *vt.Terminal) string {
	if x, y := unnumbered(a), unnumbered(b); !bytes.Equal(x, y) {
		return fmt.Sprintf("%q and %q", x, y)
	}
	return ""
}

// unnumbered is the dump of a terminal that one event wrote.
func unnumbered(t *vt.Terminal) []byte {
	cols, rows := t.Size()
	again := vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: t.ScrollbackLen()})
	again.Write(eventNumber.ReplaceAll(t.Dump(), nil))
	return again.Dump()
}

var eventNumber = regexp.MustCompile(`\x1b_den;seq;[0-9]+\x1b\\`)
