package eventlog_test

import (
	"fmt"
	"slices"
	"testing"

	"den/internal/screen/eventlog"
)

func played(t *testing.T, l *eventlog.Log) (out []string) {
	t.Helper()
	for ev, err := range l.Play() {
		switch {
		case eventlog.Missing(err):
			out = append(out, "missing")
		case err != nil:
			t.Fatal(err)
		case ev.Repaint:
			out = append(out, fmt.Sprintf("%d!%s%s", ev.Seq, ev.Code, ev.Data))
		default:
			out = append(out, fmt.Sprintf("%d%s%s", ev.Seq, ev.Code, ev.Data))
		}
	}
	return out
}

func TestPlay(t *testing.T) {
	dir := t.TempDir()
	o := options(&clock{})
	paint := ""
	o.Repaint = func() []byte { return []byte(paint) }
	w := create(t, dir, o)
	if got, want := played(t, open(t, dir)), []string{"0!r80x24"}; !slices.Equal(got, want) {
		t.Errorf("empty: %q, want %q", got, want)
	}
	for i, s := range []string{"a", "b", "c"} {
		if i > 0 {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
		w.Append("o", []byte(s))
		w.Append("r", fmt.Appendf(nil, "%dx10", 10+i))
		paint += s
	}
	closed(t, w)
	if got, want := played(t, open(t, dir)), []string{"0!r80x24", "1oa", "2r10x10", "3ob", "4r11x10", "5oc", "6r12x10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	second := segmentFiles(t, dir)[1]
	file := read(t, second)
	put(t, second, append(file[:len(file)-3], "!!\n"...))
	if got, want := played(t, open(t, dir)), []string{"0!r80x24", "1oa", "2r10x10", "3ob", "missing", "4!r11x10", "4!oab", "5oc", "6r12x10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
