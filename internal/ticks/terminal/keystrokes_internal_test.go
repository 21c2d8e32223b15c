package terminal

import (
	"fmt"
	"strings"
	"testing"

	"den/internal/base/fault"
)

// describe is what strokes send, for tables.
func describe(s strokes) string {
	var parts []string
	for _, in := range s.inputs {
		var part string
		switch {
		case in.Text != nil:
			part = fmt.Sprintf("text %q", *in.Text)
		case in.Paste != nil:
			part = fmt.Sprintf("paste %q", *in.Paste)
		default:
			part = "keys " + strings.Join(in.Keys, " ")
		}
		if in.Enter {
			part += " enter"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func yes(b bool) *bool { return &b }

func TestParseText(t *testing.T) {
	for _, c := range []struct {
		text  string
		enter *bool
		want  string
	}{
		{"ls", nil, `text "ls" enter`},
		{"ls", yes(true), `text "ls" enter`},
		{"ls", yes(false), `text "ls"`},
		{"ls\n", nil, `text "ls" enter`},
		{"ls\r\n", nil, `text "ls" enter`},
		{"ls\n", yes(false), `paste "ls\n"`},
		{"\n", nil, `keys Enter`},
		{"-n", nil, `text "-n" enter`},
		{"--help", nil, `text "--help" enter`},
		{"a\nb", nil, `paste "a\nb" enter`},
		{"a\r\nb\n", nil, `paste "a\nb" enter`},
		{"a\nb", yes(false), `paste "a\nb"`},
		{"a\n\x03", nil, `text "a\n\x03" enter`},
		{"\x1b", yes(false), `text "\x1b"`},

		{"Enter", nil, `keys Enter`},
		{"C-c", nil, `keys C-c`},
		{"C-c", yes(true), `keys C-c; keys Enter`},
		{`C-\`, nil, `keys C-\`},
		{"M-x", nil, `keys M-x`},
		{"C-Up", nil, `keys C-Up`},
		{"PPage", nil, `keys PPage`},
		{"F12", nil, `keys F12`},

		{"Enter key", nil, `text "Enter key" enter`},
		{"enter", nil, `text "enter" enter`},
		{"F13", nil, `text "F13" enter`},
		{"C-", nil, `text "C-" enter`},
		{"C-abc", nil, `text "C-abc" enter`},
		{"C-zz", nil, `text "C-zz" enter`},
		{"C- ", nil, `text "C- " enter`},
		{"<Esc>", nil, `text "<Esc>" enter`},
	} {
		s, err := parseText(c.text, c.enter)
		if got := describe(s); err != nil || got != c.want {
			t.Errorf("parseText(%q) = %s, %v; want %s", c.text, got, err, c.want)
		}
	}
	if _, err := parseText(strings.Repeat("x", maxText+1), nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("too long: %v", err)
	}
	if _, err := parseText("\xff", nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("not UTF-8: %v", err)
	}
}

func TestParseKeys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"<Esc>:wq<Enter>", `keys Esc; text ":wq"; keys Enter`},
		{"<C-c><C-c>", `keys C-c C-c`},
		{"Home", `text "Home"`},
		{"<Home>", `keys Home`},
		{"a<lt>b>c", `text "a<b>c"`},
		{"<LT><lt>", `text "<<"`},
		{"x<Down*5>y", `text "x"; keys Down*5; text "y"`},
		{"<Ctrl+C>", `keys Ctrl+C`},
		{"<Click:3,10>", `keys Click:3,10`},
		{"1 > 2", `text "1 > 2"`},
	} {
		s, err := parseKeys(c.keys, false)
		if got := describe(s); err != nil || got != c.want {
			t.Errorf("parseKeys(%q) = %s, %v; want %s", c.keys, got, err, c.want)
		}
	}
	if s, err := parseKeys("ls", true); err != nil || describe(s) != `text "ls"; keys Enter` || !s.entered {
		t.Errorf("with Enter: %s, %v", describe(s), err)
	}
	for _, bad := range []string{"<", "a<b", "<>", "<b>", "<div class=x>", "<leader>", "<C->", "<Esc"} {
		if s, err := parseKeys(bad, false); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("parseKeys(%q) = %s, %v", bad, describe(s), err)
		}
	}
}

func TestStrokesTellTheirEcho(t *testing.T) {
	for _, c := range []struct {
		keys    string
		lines   string
		entered bool
	}{
		{"ls<Enter>", "ls", true},
		{"ls", "ls", false},
		{"a<Enter>b<Enter>", "a|b", true},
		{"a<Enter>b", "a|b", false},
		{"<Enter*2>", "|", true},
		{"<Up>", "", false},
	} {
		s, err := parseKeys(c.keys, false)
		if got := strings.Join(s.lines, "|"); err != nil || got != c.lines || s.entered != c.entered || len(s.lines) == 0 {
			t.Errorf("%q: %q %v, %v", c.keys, s.lines, s.entered, err)
		}
	}
}

// Any text can be typed: with every "<" written as <lt> it comes out as it is,
// and what is refused sends nothing.
func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{"", "ls -l", "<Esc>:wq<Enter>", "a < b > c", "<<>>", "<C-", "é<lt>\x00", "<Down*99999>", "<M-<>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := parseKeys(s, true); err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("parseKeys(%q): %v", s, err)
		}
		if checkText(s) != nil || s == "" {
			return
		}
		got, err := parseKeys(strings.ReplaceAll(s, "<", "<lt>"), false)
		if err != nil || len(got.inputs) != 1 || got.inputs[0].Text == nil || *got.inputs[0].Text != s {
			t.Errorf("%q came out as %s, %v", s, describe(got), err)
		}
		if _, err := parseText(s, nil); err != nil {
			t.Errorf("parseText(%q): %v", s, err)
		}
	})
}
