package vt_test

import (
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// screenCase is input to a terminal of 10x4 and what it shows afterwards.
type screenCase struct {
	name, in, want string
	row, col       int
}

func runScreenCases(t *testing.T, cases []screenCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(10, 4, 10))
			term.Write([]byte(c.in))
			if got := string(term.AppendText(nil)); got != c.want {
				t.Errorf("shows %q, want %q", got, c.want)
			}
			if cur := term.Cursor(); cur.Row != c.row || cur.Col != c.col {
				t.Errorf("cursor at %d,%d, want %d,%d", cur.Row, cur.Col, c.row, c.col)
			}
		})
	}
}

func TestWrapping(t *testing.T) {
	full := "0123456789"
	runScreenCases(t, []screenCase{
		{"pending", full, full, 0, 9},
		{"next character wraps", full + "x", full + "\nx", 1, 1},
		{"SGR keeps it pending", full + "\x1b[1mx", full + "\nx", 1, 1},
		{"SU keeps it pending", full + "\x1b[Sx", "\nx", 1, 1},
		{"CR ends it", full + "\rx", "x123456789", 0, 1},
		{"LF ends it", full + "\nx", full + "\n         x", 1, 9},
		{"BS ends it", full + "\bx", "01234567x9", 0, 9},
		{"CUP ends it", full + "\x1b[1;10Hx", "012345678x", 0, 9},
		{"RI ends it", "\n" + full + "\x1bMx", "         x\n" + full, 0, 9},
		{"EL ends it and erases", full + "\x1b[Kx", "012345678x", 0, 9},
		{"ED ends it and erases", full + "\x1b[Jx", "012345678x", 0, 9},
		{"ED 2 ends it", full + "\x1b[2Jx", "         x", 0, 9},
		{"EL 1 keeps it", full + "\x1b[1Kx", "\nx", 1, 1},
		{"EL 2 keeps it", full + "\x1b[2Kx", "\nx", 1, 1},
		{"ED 1 keeps it", full + "\x1b[1Jx", "\nx", 1, 1},
		{"DECSEL 1 keeps it", full + "\x1b[?1Kx", "\nx", 1, 1},
		{"NEL ends it", full + "\x1bEx", full + "\nx", 1, 1},
		{"tab keeps it", full + "\tx", full + "\nx", 1, 1},
		{"no autowrap", "\x1b[?7l" + full + "xy", "012345678y", 0, 9},
		{"no autowrap, wide", "\x1b[?7l" + full + "日", full, 0, 9},
		{"no autowrap, wide that fits", "\x1b[?7l01234567日", "01234567日", 0, 9},
		{"DECSC saves it", full + "\x1b7\x1b[H\x1b8x", full + "\nx", 1, 1},
		{"reverse wrap", "\x1b[?45h" + full + "a\b\b\bx", "01234567x9\na", 0, 9},
		{"scrolls at the bottom", "\x1b[4H" + full + "x", "\n\n" + full + "\nx", 3, 1},
		{"below the bottom margin stays", "\x1b[1;2r\x1b[4H" + full + "x", "\n\n\nx123456789", 3, 1},
	})
}

func TestMargins(t *testing.T) {
	fill := "\x1b[H0000000000\x1b[2H1111111111\x1b[3H2222222222\x1b[4H3333333333"
	lr := fill + "\x1b[?69h\x1b[3;6s"
	runScreenCases(t, []screenCase{
		{"DECSTBM homes", fill + "\x1b[2;3r", "0000000000\n1111111111\n2222222222\n3333333333", 0, 0},
		{"NEL right of the margin does not scroll", lr + "\x1b[4;9H\x1bEx", "0000000000\n1111111111\n2222222222\n33x3333333", 3, 3},
		{"LF under LNM right of the margin does not scroll", lr + "\x1b[20h\x1b[4;9H\nx", "0000000000\n1111111111\n2222222222\n33x3333333", 3, 3},
		{"index at the bottom margin", fill + "\x1b[2;3r\x1b[3H\x1bD", "0000000000\n2222222222\n\n3333333333", 2, 0},
		{"reverse index at the top", fill + "\x1b[2;3r\x1b[2H\x1bM", "0000000000\n\n1111111111\n3333333333", 1, 0},
		{"IL", fill + "\x1b[2;3r\x1b[2;4H\x1b[L", "0000000000\n\n1111111111\n3333333333", 1, 0},
		{"DL", fill + "\x1b[2;3r\x1b[2;4H\x1b[M", "0000000000\n2222222222\n\n3333333333", 1, 0},
		{"IL outside does nothing", fill + "\x1b[2;3r\x1b[4;4H\x1b[L", "0000000000\n1111111111\n2222222222\n3333333333", 3, 3},
		{"origin mode", fill + "\x1b[2;3r\x1b[?6h\x1b[1;1Hx\x1b[9;9Hy", "0000000000\nx111111111\n22222222y2\n3333333333", 2, 9},
		{"CUU stops at the margin", "\x1b[2;3r\x1b[3;1H\x1b[9Ax", "\nx", 1, 1},
		{"one row is refused", "\x1b[2;2r\x1b[4Hx", "\n\n\nx", 3, 1},
		{"DECSLRM: text wraps inside", lr + "\x1b[1;5Habcde", "0000ab0000\n11cde11111\n2222222222\n3333333333", 1, 5},
		{"DECSLRM: scroll", lr + "\x1b[S", "0011110000\n1122221111\n2233332222\n33    3333", 0, 0},
		{"DECSLRM: IL", lr + "\x1b[2;3H\x1b[L", "0000000000\n11    1111\n2211112222\n3322223333", 1, 2},
		{"DECSLRM: ICH", lr + "\x1b[2;4H\x1b[2@", "0000000000\n111  11111\n2222222222\n3333333333", 1, 3},
		{"DECSLRM: DCH", lr + "\x1b[2;4H\x1b[2P", "0000000000\n1111  1111\n2222222222\n3333333333", 1, 3},
		{"DECSLRM: CR", lr + "\x1b[2;5H\rx", "0000000000\n11x1111111\n2222222222\n3333333333", 1, 3},
		{"DECIC", fill + "\x1b[2;3H\x1b[2'}", "00  000000\n11  111111\n22  222222\n33  333333", 1, 2},
		{"DECDC", fill + "\x1b[2;3H\x1b[2'~", "00000000\n11111111\n22222222\n33333333", 1, 2},
		{"DECSLRM with 69 off saves no cursor", "\x1b[2;2H\x1b[s\x1b[3;3H\x1b[1;5s\x1b[5s\x1b[ux", "\n x", 1, 2},
		{"SCORC takes no number", "\x1b[2;2H\x1b[s\x1b[3;3H\x1b[1ux", "\n\n  x", 2, 3},
		{"69 off gives SCOSC back", "\x1b[2;2H\x1b[s\x1b[4;4H\x1b[ux", "\n x", 1, 2},
		{"resetting 69 resets margins", lr + "\x1b[?69l\x1b[2;9Habcd", "0000000000\n11111111ab\ncd22222222\n3333333333", 2, 2},
	})
}

func TestErasingAndEditing(t *testing.T) {
	runScreenCases(t, []screenCase{
		{"ED 0", "aaa\r\nbbb\r\nccc\x1b[2;2H\x1b[J", "aaa\nb", 1, 1},
		{"ED 1", "aaa\r\nbbb\r\nccc\x1b[2;2H\x1b[1J", "\n  b\nccc", 1, 1},
		{"ED 2", "aaa\r\nbbb\x1b[2J", "", 1, 3},
		{"EL 1", "abcdef\x1b[3G\x1b[1K", "   def", 0, 2},
		{"ECH", "abcdef\x1b[2G\x1b[3X", "a   ef", 0, 1},
		{"ICH", "abcdef\x1b[2G\x1b[2@", "a  bcdef", 0, 1},
		{"DCH", "abcdef\x1b[2G\x1b[2P", "adef", 0, 1},
		{"insert mode", "abc\x1b[G\x1b[4hxy\x1b[4lz", "xyzbc", 0, 3},
		{"REP", "a\x1b[3b", "aaaa", 0, 4},
		{"REP of a cluster", clusters + "👍🏽\x1b[b", "👍🏽👍🏽", 0, 4},
		{"REP after a control does nothing", "a\r\x1b[3b", "a", 0, 0},
		{"REP without bound", "a\x1b[2000000000b", "aaaaaaaaaa\naaaaaaaaaa\naaaaaaaaaa\na", 3, 1},
		{"protected text", "\x1b[1\"qkeep\x1b[0\"qdrop\x1b[?2K", "keep", 0, 8},
		{"protection does not stop EL", "\x1b[1\"qkeep\x1b[2K", "", 0, 4},
		{"DECALN", "\x1b#8", strings.TrimSuffix(strings.Repeat("EEEEEEEEEE\n", 4), "\n"), 0, 0},
		{"DECFRA", "\x1b[42;2;3;3;5$x", "\n  ***\n  ***", 0, 0},
		{"DECERA", "\x1b#8\x1b[2;1;3;9$z", "EEEEEEEEEE\n         E\n         E\nEEEEEEEEEE", 0, 0},
		{"DECCRA", "abc\r\ndef\x1b[1;1;2;3;1;3;5;1$v", "abc\ndef\n    abc\n    def", 1, 3},
		{"DECBI at the edge", "abc\r\x1b6", " abc", 0, 0},
		{"LNM", "\x1b[20ha\nb", "a\nb", 1, 1},
		{"tabs", "\tx\r\x1b[3gy\tz", "y       xz", 0, 9},
		{"HTS and CBT", "\x1b[3g\x1b[4G\x1bH\r\tx\x1b[Zy", "   y", 0, 4},
		{"DECST8C", "\x1b[3g\x1b[?5W\tx", "        x", 0, 9},
		{"SUB aborts", "\x1b[3\x1aA", "A", 0, 1},
		{"CAN aborts an OSC", "\x1b]0;no\x18A", "A", 0, 1},
		{"control inside a sequence", "ab\x1b[\r1Cx", "ax", 0, 2},
		{"DECSTR", "\x1b[4h\x1b[?6h\x1b[2;3r\x1b[!px", "\nx", 1, 1},
		{"RIS", "abc\x1b[?1049hdef\x1bcx", "x", 0, 1},
	})
}

func TestCharsets(t *testing.T) {
	runScreenCases(t, []screenCase{
		{"graphics", "\x1b(0lqk\x1b(Bq", "┌─┐q", 0, 4},
		{"SO and SI", "\x1b)0\x0ex\x0fx", "│x", 0, 2},
		{"single shift", "\x1b*0\x1bNqq", "─q", 0, 2},
		{"single shift 3", "\x1b+0\x1bOqq", "─q", 0, 2},
		{"locking shift 2", "\x1b*0\x1bnqq\x0fq", "──q", 0, 3},
		{"locking shift 3", "\x1b+0\x1boq\x0fq", "─q", 0, 2},
		{"UK", "\x1b(A#", "£", 0, 1},
		{"runes are not translated", "\x1b(0é", "é", 0, 1},
		{"restored with the cursor", "\x1b7\x1b(0q\x1b8\x1b[Cq", "─q", 0, 2},
	})
}

func TestAlternateScreens(t *testing.T) {
	runScreenCases(t, []screenCase{
		{"1049 clears and restores", "ab\x1b[?1049hcd\x1b[?1049lx", "abx", 0, 3},
		{"1049 keeps the position", "ab\x1b[?1049hcd", "  cd", 0, 4},
		{"1049 enters a clear screen", "\x1b[?47hxyz\x1b[?47l\x1b[?1049h", "", 0, 3},
		{"47 keeps both", "ab\x1b[?47hcd\x1b[?47l\x1b[?47h", "  cd", 0, 4},
		{"47 does not restore the cursor", "ab\x1b[?47h\x1b[3;3H\x1b[?47lx", "ab\n\n  x", 2, 3},
		{"1047 clears on leaving", "\x1b[?1047hxyz\x1b[?1047l\x1b[?47h", "", 0, 3},
		{"1048", "\x1b[2;2H\x1b[?1048h\x1b[H\x1b[?1048lx", "\n x", 1, 2},
		{"saved cursors are per screen", "\x1b[2;2H\x1b7\x1b[?47h\x1b[3;3H\x1b7\x1b[H\x1b[?47l\x1b8x", "\n x", 1, 2},
	})
}

func TestEraseKeepsScrollback(t *testing.T) {
	term := vt.New(config(10, 2, 10))
	term.Write([]byte("a\r\nb\r\nc\r\nd"))
	term.Write([]byte("\x1b[2J"))
	if n := term.ScrollbackLen(); n != 2 {
		t.Errorf("ED 2 left %d rows of scrollback, want 2", n)
	}
	if first, screen := term.FirstLine(), term.ScreenLine(); first != 0 || screen != 2 {
		t.Errorf("rows %d and %d", first, screen)
	}
	term.Write([]byte("\x1b[3J"))
	if n := term.ScrollbackLen(); n != 0 {
		t.Errorf("ED 3 left %d rows", n)
	}
	if first, screen := term.FirstLine(), term.ScreenLine(); first != 2 || screen != 2 {
		t.Errorf("rows %d and %d after ED 3", first, screen)
	}
}

func TestScrollbackIsARing(t *testing.T) {
	term := vt.New(config(10, 2, 3))
	for i := range 100 {
		term.Write([]byte(strings.Repeat(string(rune('a'+i%26)), 3) + "\r\n"))
	}
	if n := term.ScrollbackLen(); n != 3 {
		t.Fatalf("%d rows", n)
	}
	if got := term.FirstLine(); got != 96 {
		t.Errorf("first line %d, want 96", got)
	}
	var got []string
	for i := -3; i < 2; i++ {
		got = append(got, string(term.Row(i).AppendText(nil)))
	}
	if s := strings.Join(got, ","); s != "sss,ttt,uuu,vvv," {
		t.Errorf("rows %q", s)
	}
}

// Blanks that a program wrote at the end of a row belong to its text; cells that
// it never wrote do not.
func TestAppendWritten(t *testing.T) {
	for _, c := range []struct {
		wrote    string
		from, to int
		want     string
	}{
		{"", 0, 20, ""},
		{"plain", 0, 20, "plain"},
		{"blanks  ", 0, 20, "blanks  "},
		{"\x1b[5Cgap", 0, 20, "     gap"},
		{"blanks  ", 0, 7, "blanks "},
		{"blanks  ", 2, 20, "anks  "},
		{"日本 ", 0, 20, "日本 "},
		{"日本", 2, 20, "本"},
		{"exactly twenty cells", 0, 20, "exactly twenty cells"},
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 2})
		term.Write([]byte(c.wrote))
		if got := string(term.Row(0).AppendWritten([]byte(">"), c.from, c.to)); got != ">"+c.want {
			t.Errorf("%q, cells %d to %d: %q, want %q", c.wrote, c.from, c.to, got, ">"+c.want)
		}
	}
}
