package screen_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
)

var update = flag.Bool("update", false, "write the golden files anew")

func terminal(cols, rows int, output string) *vt.Terminal {
	t := vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: 100})
	t.Write([]byte(output))
	return t
}

const styled = "plain \x1b[1mbold\x1b[0m \x1b[31mred\x1b[42mon green\x1b[0m \x1b[38;5;208mindexed\x1b[38;2;1;2;3mtrue\x1b[0m\r\n" +
	"\x1b[3mitalic\x1b[0m \x1b[4msingle\x1b[4:2mdouble\x1b[4:3mcurly\x1b[4:4mdotted\x1b[4:5mdashed\x1b[58;5;9mred line\x1b[0m\r\n" +
	"\x1b[7minverse\x1b[0m \x1b[2mdim\x1b[0m \x1b[9mstrike\x1b[0m \x1b[53mover\x1b[0m \x1b[8mhidden\x1b[0m\r\n" +
	"\x1b]8;;https://example.com/?a=1&b\x1b\\link\x1b]8;;\x1b\\ \x1b]8;;javascript:alert(1)\x1b\\trap\x1b]8;;\x1b\\ <b>&\r\n" +
	"日本 👩‍👩‍👧 é e\u0301|\r\n"

func TestFormats(t *testing.T) {
	s := screen.Capture(terminal(60, 8, styled), 0)
	for name, got := range map[string]string{"text": s.PlainText(), "ansi": s.ANSI(), "html": s.HTML()} {
		path := filepath.Join("testdata", "styled."+name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for link, want := range map[string]bool{
		"https://example.com/": true, "HTTP://example.com/": true, "mailto:a@b": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "data:text/html,x": false, "": false,
	} {
		if got := screen.SafeLink(link); got != want {
			t.Errorf("SafeLink(%q) = %v", link, got)
		}
	}
	if strings.Contains(s.HTML(), "javascript:") {
		t.Error("a program planted a script into the page")
	}
	painted := string(screen.NewPainter(60, 8).Paint(nil, terminal(60, 8, styled)))
	for name, got := range map[string]string{"ansi": s.ANSI(), "painter": painted} {
		if strings.Contains(got, "javascript:") || !strings.Contains(got, "https://example.com/?a=1&b") {
			t.Errorf("%s has not the harmless link alone: %q", name, got)
		}
	}
}

// The ANSI form shows the same screen, but for links that are dropped.
func TestANSIShowsTheSame(t *testing.T) {
	a := terminal(60, 8, strings.ReplaceAll(styled, "javascript:alert(1)", "https://example.com/1"))
	first := screen.Capture(a, 0)
	b := terminal(60, 8, strings.ReplaceAll(first.ANSI(), "\n", "\r\n"))
	second := screen.Capture(b, 0)
	if fmt.Sprint(first.Lines) != fmt.Sprint(second.Lines) {
		t.Errorf("%v\nwant\n%v", second.Lines, first.Lines)
	}
}

func TestHashIsOfTheVisibleTextOnly(t *testing.T) {
	a := terminal(40, 5, "one\r\ntwo")
	hash := screen.Capture(a, 0).Hash
	for what, output := range map[string]string{
		"cursor": "\x1b[H", "colour": "\x1b[H\x1b[31mone", "title": "\x1b]2;x\a", "blanks": "\x1b[4;1H   ",
	} {
		b := terminal(40, 5, "one\r\ntwo"+output)
		if got := screen.Capture(b, 0).Hash; got != hash {
			t.Errorf("%s changed the hash", what)
		}
	}
	if got := screen.Capture(terminal(40, 9, "one\r\ntwo"), 0).Hash; got != hash {
		t.Error("the number of rows changed the hash")
	}
	if got := screen.Capture(terminal(40, 5, "one\r\ntwo."), 0).Hash; got == hash {
		t.Error("other text, same hash")
	}
}

func TestScrollbackAndUnwrapped(t *testing.T) {
	term := terminal(10, 3, "first line is long\r\n2\r\n3\r\n4\r\n5")
	s := screen.Capture(term, -1)
	if got, want := s.PlainText(), "first line\n is long\n2\n3\n4\n5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s := screen.Capture(term, 1); s.PlainText() != "2\n3\n4\n5" || s.ScrollbackTotal != 3 {
		t.Errorf("%q of %d", s.PlainText(), s.ScrollbackTotal)
	}
	wrapped := terminal(10, 3, "a long text that wraps")
	if got := screen.Unwrapped(wrapped); got != "a long text that wraps" {
		t.Errorf("Unwrapped = %q", got)
	}
}

func TestConditions(t *testing.T) {
	term := terminal(20, 4, "$ make\r\nok 12 tests\r\n$ ")
	str := func(s string) *string { return &s }
	hash := screen.Hash(screen.Text(term))
	for name, c := range map[string]struct {
		conditions screen.Conditions
		unmet      string
		found      string
	}{
		"all":     {screen.Conditions{Text: str("ok"), Gone: str("FAIL"), Cursor: &screen.Point{Row: 2, Col: 2}, Changed: str("x")}, "", "ok"},
		"regex":   {screen.Conditions{Regex: str(`(\d+) tests`)}, "", "12 tests"},
		"text":    {screen.Conditions{Text: str("nope")}, "text", "nope"},
		"several": {screen.Conditions{Regex: str("^x"), Gone: str("ok"), Cursor: &screen.Point{}, Changed: &hash}, "regex gone cursor changed", ""},
	} {
		found, unmet, err := screen.Check(term, c.conditions)
		if err != nil || strings.Join(unmet, " ") != c.unmet || found != c.found {
			t.Errorf("%s: found %q, unmet %v, %v", name, found, unmet, err)
		}
	}
	if _, _, err := screen.Check(term, screen.Conditions{Regex: str("(")}); err == nil {
		t.Error("a bad expression was taken")
	}
}

// What a painter sends makes the other terminal show the same, whatever came
// before and however the sizes differ.
func TestPainterLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"text ", "日本", "\x1b[31m", "\x1b[0m", "\x1b[7m", "\r\n", "\x1b[H", "\x1b[2J", "\x1b[5;7H", "\x1b[K", "\x1b[L", "\x1b[M",
		"\x1b[?1049h", "\x1b[?1049l", "é", "👩‍👩‍👧", "\x1b[3P", "\x1b[2@", "\x1b[4:3m", "\x1b[?25l", "\x1b[?25h", "\x1b[3 q", "\x1b[?1h", "\x1b[?1000h\x1b[?1006h", "\x1b[?1000l", "\x1b[?2004h",
	}
	for round := range 200 {
		cols, rows := 5+rng.IntN(30), 2+rng.IntN(10)
		src := vt.New(vt.Config{Cols: cols, Rows: rows})
		dst := vt.New(vt.Config{Cols: cols, Rows: rows})
		p := screen.NewPainter(cols, rows)
		dst.Write(p.Enter(nil))
		for range 30 {
			for range rng.IntN(8) {
				src.Write([]byte(pieces[rng.IntN(len(pieces))]))
			}
			dst.Write(p.Paint(nil, src))
			compare(t, round, src, dst)
			if t.Failed() {
				return
			}
		}
		dst.Write(p.Leave(nil))
		if m := dst.Modes(); m.AltScreen || m.AppCursor || m.BracketedPaste || m.Mouse != vt.MouseNone || !dst.Cursor().Visible {
			t.Fatalf("Leave left %+v", m)
		}
	}
}

func compare(t *testing.T, round int, a, b *vt.Terminal) {
	t.Helper()
	cols, rows := a.Size()
	for y := range rows {
		for x := range cols {
			if ca, cb := normal(a.Row(y).Cell(x)), normal(b.Row(y).Cell(x)); ca != cb {
				t.Errorf("round %d: cell %d,%d is %+v, want %+v", round, y, x, cb, ca)
				return
			}
		}
	}
	ca, cb := a.Cursor(), b.Cursor()
	if ca.Row != cb.Row || ca.Col != cb.Col || ca.Visible != cb.Visible || ca.Shape != cb.Shape {
		t.Errorf("round %d: cursor %+v, want %+v", round, cb, ca)
	}
	ma, mb := a.Modes(), b.Modes()
	if ma.AppCursor != mb.AppCursor || ma.Mouse != mb.Mouse || ma.MouseEncoding != mb.MouseEncoding || ma.BracketedPaste != mb.BracketedPaste {
		t.Errorf("round %d: modes %+v, want %+v", round, mb, ma)
	}
}

func normal(c vt.Cell) vt.Cell {
	if c.Text == " " {
		c.Text = ""
	}
	return c
}

// A screen larger than the terminal is clipped with the cursor in view.
func TestPainterClips(t *testing.T) {
	src := terminal(80, 24, "\x1b[24;70Hhere")
	dst := vt.New(vt.Config{Cols: 20, Rows: 5})
	p := screen.NewPainter(20, 5)
	dst.Write(p.Paint(nil, src))
	if !strings.Contains(screen.Text(dst), "here") {
		t.Errorf("the cursor's place is not in view:\n%s", screen.Text(dst))
	}
	src.Write([]byte("\x1b[Htop"))
	dst.Write(p.Paint(nil, src))
	if !strings.HasPrefix(screen.Text(dst), "top") {
		t.Errorf("the view does not follow the cursor:\n%s", screen.Text(dst))
	}
}

// A terminal may take an emoji for wider or narrower than den does. What stands
// right of it is in its column all the same.
func TestPaintingDoesNotTrustEmojiWidths(t *testing.T) {
	for _, text := range []string{"❤\ufe0fx", "👩\u200d👩x", "🇩🇪x"} {
		src, dst := vt.New(vt.Config{Cols: 20, Rows: 1}), vt.New(vt.Config{Cols: 20, Rows: 1})
		src.Write([]byte("\x1b[?2027h" + text))
		p := screen.NewPainter(20, 1)
		dst.Write(p.Paint(nil, src))
		if got := dst.Row(0).Cell(2).Text; got != "x" {
			t.Errorf("%q: column 2 shows %q", text, got)
		}
	}
}

// A snapshot says what the program takes of a mouse.
func TestMouse(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"", ""},
		{"\x1b[?1000h", "buttons"},
		{"\x1b[?1049h\x1b[?1007h", "wheel"},
		{"\x1b[?1049h\x1b[?1007l", ""},
		{"\x1b[?1003h\x1b[?1003l", ""},
	} {
		term := vt.New(vt.Config{Cols: 10, Rows: 2})
		term.Write([]byte(c.output))
		if got := screen.Capture(term, 0).Mouse; got != c.want {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
}

func TestSnapshotOfAnImage(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 4, Scrollback: 10})
	plain := screen.Capture(term, 0)
	term.Write([]byte("\r\n  \x1bP0;1q\"1;1;27;30#1!27~-\x1b\\"))
	s := screen.Capture(term, 0)
	if s.Text != plain.Text || s.Hash != plain.Hash {
		t.Errorf("an image is text: %q", s.Text)
	}
	if len(s.Images) != 1 || s.Images[0].Width != 27 || s.Images[0].Cols != 3 || len(s.Images[0].PNG) == 0 {
		t.Fatalf("images %+v", s.Images)
	}
	want := []screen.Tile{{Image: s.Images[0].ID, Col: 2, Width: 3, X: 0, Y: 1}}
	if !reflect.DeepEqual(s.Lines[2].Images, want) {
		t.Errorf("the third row shows %+v, want %+v", s.Lines[2].Images, want)
	}
	raw, err := json.Marshal(s)
	var again screen.Snapshot
	if err != nil || json.Unmarshal(raw, &again) != nil || !reflect.DeepEqual(again.Images, s.Images) {
		t.Errorf("it does not survive JSON: %v", err)
	}
	if bare := s.WithoutPictures(); bare.Images[0].PNG != nil || s.Images[0].PNG == nil {
		t.Error("the copy without pictures has one, or the snapshot lost its own")
	}
	term.Write([]byte("\r\n\n\n\n\n\n"))
	if s := screen.Capture(term, -1); len(s.Images) != 1 || len(s.Scrollback[1].Images) != 1 {
		t.Errorf("images above the screen: %+v", s.Images)
	}
}

func TestSnapshotOfDoubleSizeLines(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 4})
	term.Write([]byte("\x1b#6a\r\n\x1b#3b\r\n\x1b#4b\r\nc"))
	s := screen.Capture(term, 0)
	for y, want := range []string{"double-width", "double-top", "double-bottom", ""} {
		if s.Lines[y].Size != want {
			t.Errorf("row %d has size %q, want %q", y, s.Lines[y].Size, want)
		}
	}
}

// The blanks before the cursor count: a prompt ends with one.
func TestBlanksBeforeTheCursor(t *testing.T) {
	for _, c := range []struct {
		printed, regex, text string
		want                 bool
	}{
		{"root# ", `# $`, "# ", true},
		{"$ ", `\$ $`, "$ ", true},
		{"one\r\ntwo $ ", `^one\ntwo \$ $`, "two $ ", true},
		{"名前> ", `> $`, "> ", true},
		{"$", `\$ $`, "$ ", false},
		{"$ ls", `\$ $`, "ls ", false},
		{"$ \r\nout", `\$ $`, "$ ", false}, // the cursor is elsewhere
		{"$ x\b", `\$ $`, "$  ", false},
		{"\r\n\r\n  ", `\n\n  $`, "  ", true},
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 4})
		term.Write([]byte(c.printed))
		for name, conditions := range map[string]screen.Conditions{"regex": {Regex: &c.regex}, "text": {Text: &c.text}} {
			_, unmet, err := screen.Check(term, conditions)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(unmet) == 0; got != c.want {
				t.Errorf("%s of %q: %v, want %v", name, c.printed, got, c.want)
			}
		}
	}
}
