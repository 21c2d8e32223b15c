package screen_test

import (
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
)

func TestBaseline(t *testing.T) {
	for _, c := range []struct {
		name        string
		writes      []string // events 1, 2, ...
		text, regex string
		after       uint64
		want        bool
	}{
		{"stood before", []string{"ready\r\n", "more\r\n"}, "ready", "", 1, false},
		{"no baseline", []string{"ready\r\n", "more\r\n"}, "ready", "", 0, true},
		{"came later", []string{"ready\r\n", "more\r\n"}, "more", "", 1, true},
		{"before and again", []string{"ready\r\n", "ready\r\n"}, "ready", "", 1, true},
		{"again in the same row", []string{"ready ", "ready"}, "ready", "", 1, true},
		{"written in part", []string{"4 passed\r", "5"}, "5 passed", "", 1, true},
		{"the part that was not written", []string{"4 passed\r", "5"}, "passed", "", 1, false},
		{"begun before", []string{"rea", "dy"}, "ready", "", 1, true},
		{"scrolled by later output", []string{"a\r\nready\r\nb\r\n", "c\r\n"}, "ready", "", 1, false},
		{"wrapped, before", []string{"0123456789abcdef", "\r\nx"}, "89ab", "", 1, false},
		{"wrapped, later", []string{"x\r\n", "0123456789abcdef"}, "89ab", "", 1, true},
		{"blanks before the cursor", []string{"x\r\n", "$ "}, "$ ", "", 1, true},
		{"blanks before the cursor, before", []string{"$ ", "\r\x1b[2B"}, "$ ", "", 1, false},
		{"overlapping", []string{"aa", "a"}, "aa", "", 1, true},
		{"only a space was written", []string{"a b\r", "\x1b[C "}, "a b", "", 1, false},
		{"wide characters", []string{"日本", "語"}, "本語", "", 1, true},
		{"wide characters, before", []string{"日本", "語"}, "日本", "", 1, false},
		{"regex before", []string{"done 1\r\n", "x"}, "", `done \d`, 1, false},
		{"regex later", []string{"done 1\r\n", "done 2"}, "", `done \d`, 1, true},
		{"regex at the end", []string{"$ x\r\n", "$ "}, "", `\$ $`, 1, true},
		{"regex on what was erased", []string{"a", "b\x1b[2D\x1b[9X"}, "", `z*`, 1, false},
		{"regex that matches nothing", []string{"x\r\n", "y"}, "", `z*`, 1, false},
	} {
		term := vt.New(vt.Config{Cols: 10, Rows: 4, Scrollback: 10})
		for i, w := range c.writes {
			term.SetSeq(uint64(i + 1))
			term.Write([]byte(w))
		}
		cond := screen.Conditions{After: c.after}
		if c.text != "" {
			cond.Text = &c.text
		} else {
			cond.Regex = &c.regex
		}
		found, unmet, err := screen.Check(term, cond)
		if err != nil || (len(unmet) == 0) != c.want {
			t.Errorf("%s: unmet %v, %v", c.name, unmet, err)
		}
		if c.name == "regex later" && found != "done 2" {
			t.Errorf("%s: found %q", c.name, found)
		}
	}
}

func BenchmarkBaseline(b *testing.B) {
	term := vt.New(vt.Config{Cols: 200, Rows: 60})
	for i := range 60 {
		term.SetSeq(uint64(i + 1))
		term.Write([]byte(strings.Repeat("needle in a haystack ", 9) + "\r\n"))
	}
	needle := "needle"
	for _, c := range []struct {
		name  string
		after uint64
	}{{"none", 0}, {"met", 58}, {"unmet", 60}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := screen.Check(term, screen.Conditions{Text: &needle, After: c.after}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCostlyBaseline looks for a text that stands all over a large screen,
// of which one row is fresh: every match before it is looked at.
func BenchmarkCostlyBaseline(b *testing.B) {
	term := vt.New(vt.Config{Cols: 500, Rows: 200})
	term.SetSeq(1)
	for range 199 {
		term.Write([]byte(strings.Repeat("needle ", 70) + "\r\n"))
	}
	term.SetSeq(2)
	term.Write([]byte("a needle"))
	needle := "needle"
	for _, c := range []struct {
		name string
		of   screen.Conditions
	}{
		{"text", screen.Conditions{Text: &needle}},
		{"text after", screen.Conditions{Text: &needle, After: 1}},
		{"regex", screen.Conditions{Regex: &needle}},
		{"regex after", screen.Conditions{Regex: &needle, After: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, unmet, err := screen.Check(term, c.of); err != nil || len(unmet) > 0 {
					b.Fatal(unmet, err)
				}
			}
		})
	}
}
