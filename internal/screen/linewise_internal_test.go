package screen

import (
	"testing"

	"den/internal/screen/vt"
)

func TestIsLinewise(t *testing.T) {
	for expr, want := range map[string]bool{
		"ready": true, "[0-9]+ passed": true, "(?m)^ok$": true, `\bdone\b`: true, "a.*b": true, "(a|b)?c{2,}": true, `\S+`: true, "[^x]": false,
		`\$ $`: false, "^ok": false, `\Aok`: false, `ok\z`: false, "a\nb": false, `a\nb`: false, "(?s)a.b": false, `a\s`: false, "(": false, "": true,
	} {
		if got := isLinewise(expr); got != want {
			t.Errorf("%q: %v", expr, got)
		}
	}
}

// FuzzLinewise: where only fresh rows are searched, the same is found as in the
// whole text.
func FuzzLinewise(f *testing.F) {
	for _, expr := range []string{"ready", "[0-9]+ passed", "(?m)^o?k$", `\bdone\b`, "a.*b", "x*", `\b`, "a|ab"} {
		f.Add(expr, "ready 3 passed\r\nok ab aab", "\r\nok\x1b[1;1Hready 4", uint16(20))
	}
	f.Fuzz(func(t *testing.T, expr, before, later string, cols uint16) {
		if len(expr) > 40 || len(before)+len(later) > 2000 {
			return
		}
		c := Conditions{Regex: &expr, After: 1}
		m, err := NewMatcher(c)
		if err != nil || !m.linewise {
			return
		}
		term := vt.New(vt.Config{Cols: int(cols%80) + 1, Rows: 8})
		term.SetSeq(1)
		term.Write([]byte(before))
		term.SetSeq(2)
		term.Write([]byte(later))
		v := &View{Terminal: term}
		for _, text := range []string{v.Text(), v.TextToCursor()} {
			m.linewise = true
			found, ok := m.find(v, text)
			m.linewise = false
			if want, wanted := m.find(v, text); found != want || ok != wanted {
				t.Fatalf("%q in %q: %q, %v; want %q, %v", expr, text, found, ok, want, wanted)
			}
		}
	})
}

// FuzzFreshText: where only the surroundings of fresh rows are searched, the
// same is found as in the whole text.
func FuzzFreshText(f *testing.F) {
	for _, text := range []string{"ready", "3 passed", "ab", "y 3", "ok\n", "\n"} {
		f.Add(text, "ready 3 passed\r\nok ab aab", "\r\nok\x1b[1;1Hready 4", uint16(20))
		f.Add(text, "ready 3 passed ok ab aab", "ready 3 passed", uint16(4))
	}
	f.Fuzz(func(t *testing.T, text, before, later string, cols uint16) {
		if text == "" || len(text) > 40 || len(before)+len(later) > 2000 {
			return
		}
		term := vt.New(vt.Config{Cols: int(cols%80) + 1, Rows: 8})
		term.SetSeq(1)
		term.Write([]byte(before))
		term.SetSeq(2)
		term.Write([]byte(later))
		v := &View{Terminal: term}
		for _, fresh := range []*freshText{freshLines(term, v.Text(), 1), freshLines(term, v.TextToCursor(), 1), freshUnwrapped(term, v.Unwrapped(), 1)} {
			if got, want := fresh.find(text), fresh.findIn(text, 0, len(fresh.text)); got != want {
				t.Fatalf("%q in %q: %v, want %v", text, fresh.text, got, want)
			}
		}
	})
}
