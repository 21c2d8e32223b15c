package vt_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/screen/vt"
)

// xtermJS is @xterm/headless in a process of its own, one terminal after the
// other. It is another emulator that claims to be xterm, so what both show of
// the same bytes is compared cell by cell.
type xtermJS struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startXtermJS needs DEN_XTERM_JS, the directory that scripts/xterm-js prints:
// `make diff-xterm` sets it.
func startXtermJS(t *testing.T) *xtermJS {
	t.Helper()
	dir := os.Getenv("DEN_XTERM_JS")
	if dir == "" {
		need.Apart(t, "compares with xterm.js, which is not installed by the tests: make diff-xterm")
	}
	cmd := exec.Command("node", "testdata/xtermjs/screen.js", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // it ends then
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &xtermJS{in, bufio.NewReaderSize(out, 1<<20)}
}

// shownScreen is a screen in words.
type shownScreen struct {
	Row     int        `json:"row"`
	Col     int        `json:"col"`
	Pending bool       `json:"pending"`
	Screen  [][]string `json:"screen"`
	Failed  string     `json:"failed"` // xterm.js threw an error
}

func (x *xtermJS) show(t *testing.T, cols, rows int, data []byte) shownScreen {
	t.Helper()
	request, err := json.Marshal(map[string]any{"cols": cols, "rows": rows, "data": base64.StdEncoding.EncodeToString(data)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.in.Write(append(request, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err := x.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("read the screen of %q at %dx%d: %v", data, cols, rows, err)
	}
	var s shownScreen
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func denScreen(cols, rows int, data []byte) shownScreen {
	term := vt.New(config(cols, rows, 1000))
	term.Write(data)
	c := term.Cursor()
	s := shownScreen{Row: c.Row, Col: c.Col, Pending: c.PendingWrap}
	for y := range rows {
		row := term.Row(y)
		var cells []string
		for x := range cols {
			cells = append(cells, describeCell(row.Cell(x)))
		}
		s.Screen = append(s.Screen, cells)
	}
	return s
}

// describeCell says what testdata/xtermjs/screen.js says.
func describeCell(c vt.Cell) string {
	if c.Width == 0 {
		return ""
	}
	text := c.Text
	if text == "" {
		text = " "
	}
	color := func(c vt.Color) string {
		switch c.Kind() {
		case vt.ColorIndexed:
			return fmt.Sprint(c.Index())
		case vt.ColorRGB:
			v := c.RGB()
			return fmt.Sprintf("#%02x%02x%02x", v.R, v.G, v.B)
		}
		return "-"
	}
	var attrs strings.Builder
	for _, a := range []struct {
		on   bool
		name string
	}{
		{c.Style.Attrs&vt.Bold != 0, "b"}, {c.Style.Attrs&vt.Dim != 0, "d"}, {c.Style.Attrs&vt.Italic != 0, "i"}, {c.Style.Underline != 0, "u"},
		{c.Style.Attrs&vt.Blink != 0, "k"}, {c.Style.Attrs&vt.Inverse != 0, "r"}, {c.Style.Attrs&vt.Hidden != 0, "h"}, {c.Style.Attrs&vt.Strike != 0, "s"}, {c.Style.Attrs&vt.Overline != 0, "o"},
	} {
		if a.on {
			attrs.WriteString(a.name)
		}
	}
	return fmt.Sprintf("%d %s %s %s %s", c.Width, text, color(c.Style.FG), color(c.Style.BG), attrs.String())
}

// differs returns the first difference between what den and xterm.js show.
func (x *xtermJS) differs(t *testing.T, cols, rows int, data []byte) string {
	t.Helper()
	den, other := denScreen(cols, rows, data), x.show(t, cols, rows, data)
	if other.Failed != "" {
		t.Logf("xterm.js fails on %q: %s", data, other.Failed)
		return ""
	}
	for y := range rows {
		for col := range cols {
			if a, b := den.Screen[y][col], other.Screen[y][col]; a != b {
				return fmt.Sprintf("row %d, column %d: den %q, xterm.js %q", y, col, a, b)
			}
		}
	}
	if den.Row != other.Row || den.Col != other.Col || den.Pending != other.Pending {
		return fmt.Sprintf("cursor: den at %d,%d pending %v, xterm.js at %d,%d pending %v", den.Row, den.Col, den.Pending, other.Row, other.Col, other.Pending)
	}
	return ""
}

// keptDifferences are where den and xterm.js differ, and den is meant to. The
// terminal is 10x4. docs/emulator.md has the same list.
var keptDifferences = []struct{ name, in, why string }{
	{"EL with a wrap pending", "\x1b[7m0123456789\x1b[m\x1b[K", "xterm erases the last column; top draws its header so"},
	{"margins and the alternate screen", "\x1b[1;2r\x1b[?1049h\x1b[4Hx\n", "xterm has one scrolling region for both screens"},
	{"SD with a background", "\x1b[45m\x1b[T", "xterm fills with the background that is set"},
	{"a wide character that does not fit", "\x1b[44m012345678日", "the blank before it is no text of the program: it is plain, and goes when the line is wrapped anew"},
	{"moving right under origin mode", "\x1b[2;3r\x1b[?6h\x1b[Cx", "a move to the right stays in its row"},
	{"DECALN and margins", "\x1b[2;3r\x1b#8\x1b[4H\n", "it resets them, as in xterm"},
	{"mode 1049 set twice", "\x1b[?1049hx\x1b[?1049h", "xterm clears the alternate screen each time"},
	{"DECRC after scrolling", "\x1b[3H\x1b7\x1b[4H\n\x1b8x", "the cursor goes to the place on the screen, not to the line that was there"},
	{"RIS and LNM", "\x1b[20h\x1bcab\nc", "a reset switches it off"},
	{"half of a wide character", "日\x1b[2G\x1b[44mx", "the other half becomes a blank on the background that it had"},
	{"ICH inside a wide character", "日本語日本\x1b[6G\x1b[@", "no half of a character stays"},
	{"overwriting a wide character at the end without autowrap", "\x1b[?7l\x1b[9G日x", "no half of a character stays"},
	{"tab stops and the alternate screen", "\x1b[?1049h\x1b[3g\x1b[?1049l\tx", "xterm has one set for both screens"},
	{"DECALN under SGR", "\x1b[3m\x1b#8", "xterm fills with plain E"},
}

func TestXtermJSDifferencesThatAreKept(t *testing.T) {
	x := startXtermJS(t)
	for _, d := range keptDifferences {
		if got := x.differs(t, 10, 4, []byte(d.in)); got == "" {
			t.Errorf("%s: both show the same now; it need not be kept (%s)", d.name, d.why)
		}
	}
}

// shownDifferently names recordings that hold a difference that is kept.
var shownDifferently = map[string]string{"top.bin": "EL with a wrap pending"}

func TestXtermJSShowsRecordingsTheSame(t *testing.T) {
	x := startXtermJS(t)
	for _, file := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := x.differs(t, 80, 24, data)
			if why := shownDifferently[filepath.Base(file)]; (d != "") != (why != "") {
				t.Errorf("difference %q, expected is %q", d, why)
			}
		})
	}
}

// TestXtermJSShowsRandomOutputTheSame makes DEN_XTERM_JS_ROUNDS streams, and
// shrinks the first that is shown differently.
func TestXtermJSShowsRandomOutputTheSame(t *testing.T) {
	x := startXtermJS(t)
	rounds := 2000
	if s := os.Getenv("DEN_XTERM_JS_ROUNDS"); s != "" {
		if _, err := fmt.Sscan(s, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range rounds {
		g := newGenerator(uint64(seed))
		cols, rows := 10+g.r.IntN(30), 3+g.r.IntN(10)
		pieces := g.commonPieces(cols, rows, 5+g.r.IntN(60))
		check := func(steps []step) string {
			var data []byte
			for _, s := range steps {
				data = append(data, s.data...)
			}
			return x.differs(t, cols, rows, data)
		}
		if check(pieces) != "" {
			pieces = fewerSteps(pieces, check)
			t.Fatalf("seed %d, %dx%d:\n%safter which: %s", seed, cols, rows, describe(pieces), check(pieces))
		}
	}
}

// fewerSteps leaves out steps as long as the check still fails. Unlike shrink it
// cuts no step, which would give text that is not valid.
func fewerSteps(steps []step, check func([]step) string) []step {
	for i := 0; i < len(steps); {
		fewer := slices.Delete(slices.Clone(steps), i, i+1)
		if check(fewer) != "" {
			steps = fewer
		} else {
			i++
		}
	}
	return steps
}

// commonPieces is output that both emulators should show the same way. While a
// wrap is pending it is followed only by what they agree on; keptDifferences
// has the rest. Output has styles or wide characters, not both.
func (g generator) commonPieces(cols, rows, n int) []step {
	term := vt.New(config(cols, rows, 1000))
	var steps []step
	styled := g.r.IntN(2) == 0
	for range n {
		p := g.commonPiece(styled)
		if term.Cursor().PendingWrap {
			p = g.pick("x", "abc", "\r", "\r\n", "\x1b[2;3H")
		}
		if p == otherScreen {
			p = map[bool]string{false: "\x1b[r\x1b[?1049h", true: "\x1b[r\x1b[?1049l"}[term.Modes().AltScreen]
		}
		term.Write([]byte(p))
		steps = append(steps, write(p))
	}
	return steps
}

// otherScreen stands for entering or leaving the alternate screen.
const otherScreen = "other screen"

func (g generator) commonPiece(styled bool) string {
	small := func() string { return g.pick("", "1", "2", "3", "5", "99") }
	switch g.r.IntN(14) {
	case 0, 1, 2:
		if !styled {
			return g.pick("a", "hello world", "日本語", "x日", "e\u0301x")
		}
		return g.pick("a", "hello world", "e\u0301", "the quick brown fox", "─│┌┐", "    ")
	case 3:
		return g.pick("\n", "\r\n", "\r", "\b", "\t", "\v")
	case 4, 5:
		return fmt.Sprintf("\x1b[%d;%dH", 1+g.r.IntN(12), 1+g.r.IntN(40))
	case 6, 7:
		moves := strings.Split("ABCDEFGIZ`ade", "")
		if styled {
			moves = append(moves, "@", "P", "X")
		}
		return "\x1b[" + small() + g.pick(moves...)
	case 8:
		return g.pick("\x1b["+small()+"L", "\x1b["+small()+"M", "\x1b["+small()+"S", "\x1b[49m\x1b["+small()+"T")
	case 9:
		return "\x1b[" + g.pick("", "0", "1", "2") + g.pick("J", "K")
	case 10:
		return g.pick("\x1b[r", "\x1b[2;3r", "\x1b[1;2r", "\x1b[2r", "\x1bD", "\x1bM", "\x1bE")
	case 11:
		if !styled {
			return "x日"
		}
		return "\x1b[" + g.pick("0", "1", "2", "3", "4", "5", "7", "8", "9", "22", "23", "24", "25", "27", "28", "29", "31", "42", "39", "49", "53", "55", "94", "105", "38;5;208", "48;5;17", "38;2;1;2;3", "48;2;9;8;7") + "m"
	case 12:
		if !styled {
			return g.pick("\x1bH", "\x1b[g", "\x1b[3g")
		}
		return g.pick("\x1b[4h", "\x1b[4l", "\x1b[?7l", "\x1b[?7h", otherScreen, "\x1b[?25l")
	}
	return g.pick("\x1b7\x1b[3;4Hz\x1b8", "\x1b(0lqk\x1b(B", "\x1b[r\x1b[m\x1b#8", "\x1b[!p", "\x1b]2;title\a", "\x1bc")
}
