package vttest_test

import (
	"testing"

	"den/internal/screen/vt"
	"den/internal/testkit/vttest"
)

func TestDiff(t *testing.T) {
	shows := func(text string, seq uint64) *vt.Terminal {
		term := vt.New(vt.Config{Cols: 20, Rows: 3, Scrollback: 10})
		term.SetSeq(seq)
		term.Write([]byte(text))
		return term
	}
	if d := vttest.Diff(shows("one\r\ntwo", 1), shows("one\r\ntwo", 9)); d != "" {
		t.Errorf("two events that wrote the same: %s", d)
	}
	for _, other := range []string{"one\r\ntwo ", "one\r\n\x1b[1mtwo", "one\r\ntwo\x1b[?7l", "one\r\nto"} {
		if vttest.Diff(shows("one\r\ntwo", 1), shows(other, 1)) == "" {
			t.Errorf("%q is no difference", other)
		}
	}
}
