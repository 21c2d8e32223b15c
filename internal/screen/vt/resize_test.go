package vt_test

import (
	"slices"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func rowsText(t *vt.Terminal) string {
	_, rows := t.Size()
	var out []string
	for i := -t.ScrollbackLen(); i < rows; i++ {
		out = append(out, string(t.Row(i).AppendText(nil)))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

func TestReflow(t *testing.T) {
	for _, c := range []struct {
		name       string
		in         string // to 10x4
		cols, rows int
		screen     string // visible
		all        string // with scrollback
		row, col   int
	}{
		{"narrower wraps", "abcdefgh", 5, 4, "abcde\nfgh", "abcde\nfgh", 1, 3},
		{"wider joins", "0123456789abc\r\nx", 20, 4, "0123456789abc\nx", "0123456789abc\nx", 1, 1},
		{"a hard newline stays", "abc\r\ndef", 20, 4, "abc\ndef", "abc\ndef", 1, 3},
		{"cursor follows its character", "abcdefgh\x1b[3D", 4, 4, "abcd\nefgh", "abcd\nefgh", 1, 1},
		{"cursor past the end", "abcd", 4, 4, "abcd", "abcd", 0, 3},
		{"scrollback takes part", "aaaaaaaaaabb\r\nb\r\nc\r\nd", 20, 4, "aaaaaaaaaabb\nb\nc\nd", "aaaaaaaaaabb\nb\nc\nd", 3, 1},
		{"too much goes to the scrollback", "aaaaaaaa\r\nbbbbbbbb\r\ncccccccc", 4, 4, "bbbb\nbbbb\ncccc\ncccc", "aaaa\naaaa\nbbbb\nbbbb\ncccc\ncccc", 3, 3},
		{"wide at the new edge", "ab日本語", 5, 4, "ab日\n本語", "ab日\n本語", 1, 4},
		{"lower keeps the cursor", "a\r\nb\r\nc\r\nd", 10, 2, "c\nd", "a\nb\nc\nd", 1, 1},
		{"lower drops empty rows first", "a\r\nb", 10, 2, "a\nb", "a\nb", 1, 1},
		{"higher leaves scrollback alone", "a\r\nb\r\nc\r\nd\r\ne", 10, 6, "b\nc\nd\ne", "a\nb\nc\nd\ne", 3, 1},
		{"coloured tail", "\x1b[42mab\x1b[K", 20, 4, "ab", "ab", 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(10, 4, 100))
			term.Write([]byte(c.in))
			term.Resize(c.cols, c.rows)
			if got := string(term.AppendText(nil)); got != c.screen {
				t.Errorf("shows %q, want %q", got, c.screen)
			}
			if got := rowsText(term); got != c.all {
				t.Errorf("all rows %q, want %q", got, c.all)
			}
			if cur := term.Cursor(); cur.Row != c.row || cur.Col != c.col {
				t.Errorf("cursor at %d,%d, want %d,%d", cur.Row, cur.Col, c.row, c.col)
			}
		})
	}
}

func TestColouredTailReachesTheNewEdge(t *testing.T) {
	term := vt.New(config(10, 2, 0))
	term.Write([]byte("\x1b[42mab\x1b[K"))
	term.Resize(20, 2)
	if got := term.Row(0).Cell(19).Style.BG; got != vt.Indexed(2) {
		t.Errorf("background %v", got)
	}
}

func TestShrinkAndGrowShowsTheSameScreen(t *testing.T) {
	term := vt.New(config(20, 6, 100))
	for i := range 30 {
		term.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 5+i) + "\r\n"))
	}
	term.Write([]byte("$ "))
	before, cursor := string(term.AppendText(nil)), term.Cursor()
	for _, size := range [][2]int{{20, 2}, {7, 6}, {3, 3}, {80, 24}, {1, 1}} {
		term.Resize(size[0], size[1])
		term.Resize(20, 6)
		if got := string(term.AppendText(nil)); got != before {
			t.Errorf("over %v: %q, was %q", size, got, before)
		}
		if got := term.Cursor(); got != cursor {
			t.Errorf("over %v: cursor %+v, was %+v", size, got, cursor)
		}
	}
}

// Text below the cursor goes out of sight and comes back.
func TestTextBelowTheCursorSurvivesAShrink(t *testing.T) {
	for _, in := range []string{
		"one\r\ntwo\r\nthree\r\nfour\r\nfive\x1b[2;3H",
		"one\r\ntwo\r\nthree\r\nfour\r\nfive\x1b[H",
		"\x1b[41mone\r\n\x1b[44m\x1b[Ktwo\r\na very long line that is wrapped at any width\x1b[1;2H",
		"1\r\n\r\n\r\n日本語日本語日本語日本語日本語x\x1b[2;1H",
	} {
		for _, size := range [][2]int{{20, 1}, {20, 2}, {20, 4}, {9, 2}, {7, 6}, {40, 1}, {2, 2}} {
			term := vt.New(config(20, 6, 100))
			term.Write([]byte(in))
			before, text, cursor := string(term.AppendText(nil)), term.Logical(), term.Cursor()
			term.Resize(size[0], size[1])
			if err := term.Check(); err != nil {
				t.Fatal(err)
			}
			if got := term.Logical(); !slices.Equal(got, text) {
				t.Errorf("%q at %v: text %q, was %q", in, size, got, text)
			}
			if d := dumpDiff(term, config(20, 6, 100)); d != "" {
				t.Errorf("%q at %v: %s", in, size, d)
			}
			term.Resize(20, 6)
			if got := string(term.AppendText(nil)); got != before || term.Cursor() != cursor {
				t.Errorf("%q over %v: %q with the cursor at %+v, was %q, %+v", in, size, got, term.Cursor(), before, cursor)
			}
		}
	}
}

// Rows below the screen go when what they followed moves or is erased.
func TestTextBelowIsDroppedWhenTheScreenChanges(t *testing.T) {
	for _, change := range []string{"\x1b[J", "\x1b[2J", "\x1bc", "\x1b[9H\n", "\x1b[M", "\x1b[L", "\x1b[T", "\x1b#8\x1b[H\x1b[J"} {
		term := vt.New(config(20, 6, 100))
		term.Write([]byte("one\r\ntwo\r\nthree\r\nfour\r\nfive\x1b[H"))
		term.Resize(20, 2)
		term.Write([]byte(change))
		term.Resize(20, 6)
		if got := rowsText(term); strings.Contains(got, "four") {
			t.Errorf("after %q: %q", change, got)
		}
	}
	term := vt.New(config(20, 6, 100))
	term.Write([]byte("one\r\ntwo\r\nthree\r\nfour\r\nfive\x1b[H"))
	term.Resize(20, 2)
	term.Write([]byte("ONE\x1b[?1049hother\x1b[2J\x1b[?1049l"))
	term.Resize(20, 6)
	if got := rowsText(term); got != "ONE\ntwo\nthree\nfour\nfive" {
		t.Errorf("after other changes: %q", got)
	}
}

func TestAlternateScreenIsClipped(t *testing.T) {
	term := vt.New(config(10, 3, 10))
	term.Write([]byte("main text\x1b[?1049h\x1b[Habcdefghij\x1b[2Hklm日no"))
	term.Resize(4, 2)
	if got := string(term.AppendText(nil)); got != "abcd\nklm" {
		t.Errorf("shows %q", got)
	}
	term.Resize(10, 3)
	if got := string(term.AppendText(nil)); got != "abcd\nklm" {
		t.Errorf("grown again: %q", got)
	}
	term.Write([]byte("\x1b[?1049l!"))
	if got := string(term.AppendText(nil)); got != "main text!" {
		t.Errorf("main screen %q", got)
	}
}

func TestRowNumbersFollowAResize(t *testing.T) {
	term := vt.New(config(10, 4, 100))
	term.Write([]byte("aaaaaaaaaaaaaaa\r\nbbbbbbbbbbbbbbb\r\n\x1b]133;C\aout"))
	if got := term.ScreenLine() + 4; got != 5 {
		t.Fatalf("cursor row is %d", got)
	}
	line := int64(4)
	term.ResizeFollowing(20, 4, &line)
	if line != 2 {
		t.Errorf("row 4 is now %d, want 2", line)
	}
	marks := term.TakeMarks()
	if len(marks) != 1 || marks[0].Line != 2 {
		t.Errorf("marks %+v", marks)
	}
	if row := term.Row(int(line - term.ScreenLine())); row.Prompt() != vt.OutputStart || string(row.AppendText(nil)) != "out" {
		t.Errorf("row %q has marks %b", row.AppendText(nil), row.Prompt())
	}
}

func TestSizesAreClamped(t *testing.T) {
	term := vt.New(config(0, -5, 10))
	if c, r := term.Size(); c != 1 || r != 1 {
		t.Errorf("%dx%d", c, r)
	}
	term.Write([]byte("日本x\r\ny"))
	term.Resize(1<<30, 1<<30)
	if c, r := term.Size(); c != vt.MaxCols || r != vt.MaxRows {
		t.Errorf("%dx%d", c, r)
	}
	if err := term.Check(); err != nil {
		t.Error(err)
	}
}
