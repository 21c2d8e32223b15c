package replay_test

import (
	"strings"
	"testing"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// A cleared screen begins anew, also when all of it comes at once.
func TestLinesAfterClear(t *testing.T) {
	var lines []string
	term := vt.New(vt.Config{Cols: 20, Rows: 5, Scrollback: 100})
	l := replay.NewLines(term, func(line string) error { lines = append(lines, line); return nil })
	for _, out := range []string{"one\r\ntwo\r\n", "\x1b[H\x1b[2J\x1b[3Jsecond\r\n"} {
		if err := l.Apply(eventlog.Event{Code: eventlog.Output, Data: []byte(out)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(lines, " "); got != "one two second" {
		t.Errorf("printed %q", got)
	}
}
