package terminal

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// marked writes a line with what it stands for.
func marked(l Line) string {
	mark := ""
	if l.Again {
		mark += "="
	}
	if l.Redrawn {
		mark += "~"
	}
	if l.Joined {
		mark += "+"
	}
	return mark + l.Text
}

// looks takes what is new of a view, as a look of the agent does.
func looks(t *testing.T, v *view) (lines, rows []string) {
	t.Helper()
	v.take()
	all, err := v.lines.drain(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all.Shown {
		lines = append(lines, marked(l))
	}
	if len(lines) != all.Total {
		t.Errorf("%d of %d lines are shown", len(lines), all.Total)
	}
	if v.term.Modes().AltScreen {
		for _, r := range v.takeAlt() {
			rows = append(rows, fmt.Sprintf("%d:%s", r.Row, r.Text))
		}
	}
	v.cleared = false
	return lines, rows
}

// Each step is output and what a look after it shows; lines are separated by
// "|".
func TestView(t *testing.T) {
	type step struct{ out, want string }
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"lines", []step{{"one\r\ntwo\r\n", "one|two"}, {"", ""}, {"three\r\n", "three"}}},
		{"before the first look", []step{{"one\r\n", "one"}}},
		{"blank lines", []step{{"\r\n\r\none\r\n\r\n", "||one|"}, {"\r\n", ""}, {"two\r\n", "two"}}},
		{"blanks at the end", []step{{"one  \r\n", "one  "}}},
		{"a prompt, and a command behind it", []step{{"$ ", "$ "}, {"ls\r\na\r\n$ ", "=$ ls|a|$ "}, {"\r\n$ ", "$ "}}},
		{"a prompt drawn again", []step{{"$ ", "$ "}, {"\r\x1b[K$ ", ""}}},
		{"a line in pieces", []step{{"a", "a"}, {"b", "=ab"}, {"c\r\n", "=abc"}, {"d", "d"}}},
		{"a progress bar", []step{{"10%", "10%"}, {"\r20%\r30%", "=30%"}, {"\r40%\r\ndone\r\n", "=40%|done"}}},
		{"a progress bar nobody looked at", []step{{"10%\r20%\r\n", "20%"}}},
		{"a line that wraps", []step{{"0123456789abc", "0123456789abc"}, {"def\r\n", "=0123456789abcdef"}, {"x\r\n", "x"}}},
		{"a wrap with a blank at the edge", []step{{"012345678 abc\r\n", "012345678 abc"}}},
		{"wide characters at the edge", []step{{"012345678世界\r\n", "012345678世界"}}},
		{"more than the screen", []step{{"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n", "1|2|3|4|5|6|7"}, {"8\r\n", "8"}}},
		{"a line that continues when it has scrolled", []step{{"1\r\n2\r\n3\r\n$ ", "1|2|3|$ "}, {"x\r\n4\r\n5\r\n6\r\n7\r\n8\r\n", "=$ x|4|5|6|7|8"}}},
		{"equal lines", []step{{"a\r\na\r\n", "a|a"}, {"a\r\n", "a"}}},

		{"a screen that is cleared", []step{{"a\r\nb\r\n", "a|b"}, {"\x1b[H\x1b[2Ja\r\nb\r\nc\r\n", "a|b|c"}}},
		{"cleared in another order", []step{{"a\r\nb\r\n", "a|b"}, {"\x1b[2J\x1b[Ha\r\n", "a"}}},
		{"cleared from the top", []step{{"a\r\nb\r\n", "a|b"}, {"\x1b[H\x1b[Ja\r\n", "a"}}},
		{"a reset", []step{{"a\r\n", "a"}, {"\x1bca\r\n", "a"}}},
		{"printed, and cleared before a look", []step{{"a\r\nb\r\n\x1b[H\x1b[2Jc\r\n", "a|b|c"}}},
		{"cleared in the middle of a line", []step{{"$ ", "$ "}, {"x\x1b[H\x1b[2J$ ", "=$ x|$ "}}},
		{"blank lines behind a clear", []step{{"a\r\n", "a"}, {"\x1b[H\x1b[2Jb\r\n\r\nc\r\n", "b||c"}}},

		{"lines drawn over", []step{{"a 1\r\nb 1\r\n", "a 1|b 1"}, {"\x1b[2Aa 2\r\nb 1\r\n", "~a 2"}, {"\x1b[2Aa 2\r\nb 2\r\n", "=b 2"}}},
		{"drawn over and more", []step{{"a 1\r\nb 1\r\n", "a 1|b 1"}, {"\x1b[2Aa 2\r\nb 2\r\nc\r\n", "~a 2|=b 2|c"}}},
		{"erased below, and written anew", []step{{"$ \r\nx\r\ny\x1b[2A\x1b[3G", "$ |x|y"}, {"\x1b[Jls\r\n\r\nz\r\n", "=$ ls||z"}}},

		{"a full screen", []step{{"$ vi\r\n\x1b[?1049h\x1b[H\x1b[2Jtext", "$ vi / 1:text"}, {"\x1b[2;1Hmore", " / 2:more"}, {"\x1b[?1049l$ ", "$ "}}},
		{"a full screen nobody saw", []step{{"$ vi\r\n\x1b[?1049htext\x1b[?1049l$ ", "$ vi|$ "}}},
		{"rows that become empty", []step{{"\x1b[?1049h\x1b[Ha\x1b[2;1Hb", " / 1:a 2:b"}, {"\x1b[1;1H\x1b[K", " / 1:"}}},
		{"clearing a full screen", []step{{"a\r\n\x1b[?1049h\x1b[Hx", "a / 1:x"}, {"\x1b[H\x1b[2Jy", " / 1:y"}, {"\x1b[?1049lb\r\n", "b"}}},
		{"mode 47", []step{{"a\r\n\x1b[?47hx", "a / 2:x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(10, 5, spool{})
			for i, s := range c.steps {
				v.write([]byte(s.out))
				lines, rows := looks(t, v)
				got := strings.Join(lines, "|")
				if len(rows) > 0 {
					got += " / " + strings.Join(rows, " ")
				}
				if got != s.want {
					t.Errorf("step %d shows %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// transcript puts together what looks showed, as a reader would.
type transcript struct {
	lines [][]string // each in parts
}

func (tr *transcript) add(lines []Line) {
	for _, l := range lines {
		last := len(tr.lines) - 1
		switch {
		case l.Again && l.Joined && last >= 0:
			tr.lines[last][len(tr.lines[last])-1] = l.Text
		case l.Again && last >= 0:
			tr.lines[last] = []string{l.Text}
		case l.Joined && last >= 0:
			tr.lines[last] = append(tr.lines[last], l.Text)
		default:
			tr.lines = append(tr.lines, []string{l.Text})
		}
	}
}

func (tr *transcript) text() string {
	var b strings.Builder
	for _, parts := range tr.lines {
		b.WriteString(strings.Join(parts, ""))
		b.WriteByte('\n')
	}
	return b.String()
}

// randomLines are lines of every length, blank ones and very long ones among
// them.
func randomLines(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		width := []int{0, 1, 9, 10, 11, 20, 60, 3000}[r.IntN(8)]
		if width == 3000 && r.IntN(20) > 0 {
			width = 15
		}
		b := make([]byte, r.IntN(width+1))
		for j := range b {
			b[j] = "abcdef  é"[r.IntN(8)]
		}
		lines[i] = string(b)
	}
	return lines
}

// Whatever lines a program prints, in whatever pieces, and whenever the agent
// looks: what it was shown is what was printed, all of it and once.
func TestNothingPrintedIsUnreported(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := randomLines(r, 1+r.IntN(120))
		out := strings.Join(lines, "\r\n") + "\r\n"
		v := newView(10, 5, spool{})
		var tr transcript
		for len(out) > 0 {
			n := min(len(out), 1+r.IntN(1+r.IntN(200)))
			v.write([]byte(out[:n]))
			out = out[n:]
			if r.IntN(4) > 0 {
				continue
			}
			v.take()
			all, err := v.lines.drain(true)
			if err != nil {
				t.Fatal(err)
			}
			tr.add(all.Shown)
		}
		v.take()
		all, err := v.lines.drain(true)
		if err != nil {
			t.Fatal(err)
		}
		tr.add(all.Shown)
		if want := strings.Join(lines, "\n") + "\n"; tr.text() != want {
			t.Fatalf("seed %d: shown\n%q\nprinted\n%q", seed, tr.text(), want)
		}
	}
}

// pieces of output that a screen program may print.
var pieces = []string{
	"a", "bc", "word ", "\r\n", "\r\n", "\r", "\n", "\b", "\t", "é世", "\x1b[A", "\x1b[2A", "\x1b[K", "\x1b[J", "\x1b[2J", "\x1b[H", "\x1b[3J",
	"\x1b[1J", "\x1b[3;4H", "\x1b[?1049h", "\x1b[?1049l", "\x1b[1;31m", "\x1b[L", "\x1b[M", "\x1bM", "\x1bc", "\x1b[2;4r", "\x1b[r", "\x1b]0;t\a", "\x1b[?25;1049h",
}

// How output is cut into pieces makes no difference.
func TestPiecesDoNotMatter(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		var out []byte
		for range r.IntN(60) {
			out = append(out, pieces[r.IntN(len(pieces))]...)
		}
		show := func(write func(*view)) string {
			v := newView(10, 5, spool{})
			write(v)
			lines, rows := looks(t, v)
			return fmt.Sprintf("%q %q", lines, rows)
		}
		whole := show(func(v *view) { v.write(out) })
		single := show(func(v *view) {
			for i := range out {
				v.write(out[i : i+1])
			}
		})
		if whole != single {
			t.Fatalf("seed %d, %q:\nat once %s\nin pieces %s", seed, out, whole, single)
		}
	}
}

// No output makes a view fail, and a second look at the same screen shows
// nothing.
func FuzzView(f *testing.F) {
	f.Add([]byte("a\r\nb\x1b[2Jc"), uint8(3))
	f.Add([]byte("\x1b[?1049hx\x1b[?1049l"), uint8(1))
	f.Add([]byte(strings.Repeat("long ", 400)), uint8(7))
	f.Fuzz(func(t *testing.T, out []byte, cut uint8) {
		v := newView(10, 5, spool{})
		for chunk := range slices.Chunk(out, int(cut)+1) {
			v.write(chunk)
			looks(t, v)
			if lines, rows := looks(t, v); len(lines)+len(rows) > 0 {
				t.Fatalf("a second look shows %q %q", lines, rows)
			}
		}
		v.resize(7, 4)
		v.clearScrollback()
		looks(t, v)
	})
}

func TestViewOfAScreenThatWasSeen(t *testing.T) {
	before := newView(10, 5, spool{})
	before.write([]byte("old\r\n$ "))
	v := viewOf(before.term, before.part, spool{})
	if lines, _ := looks(t, v); len(lines) > 0 {
		t.Errorf("what was seen is shown again: %q", lines)
	}
	v.write([]byte("ls\r\na\r\n"))
	if lines, _ := looks(t, v); strings.Join(lines, "|") != "=$ ls|a" {
		t.Errorf("%q", lines)
	}
}

func TestResizeShowsNothingAgain(t *testing.T) {
	v := newView(10, 5, spool{})
	v.write([]byte("one\r\ntwo and more\r\n"))
	looks(t, v)
	v.write([]byte("three"))
	v.resize(20, 8)
	if lines, _ := looks(t, v); strings.Join(lines, "|") != "three" {
		t.Errorf("%q", lines)
	}
	v.write([]byte(" four\r\n"))
	if lines, _ := looks(t, v); strings.Join(lines, "|") != "=three four" {
		t.Errorf("%q", lines)
	}
}

// The echo of what was typed is no match, and what a program repeats of it is.
func TestUntil(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed []string
		out   string
		until string
		want  string // the line that matches, or ""
	}{
		{"output", nil, "ready\r\n", "^ready$", "ready"},
		{"part of a line", nil, "Password: ", "assword: $", "Password: "},
		{"the echo of a command", []string{"echo done"}, "$ echo done\r\n", "done", ""},
		{"its output", []string{"echo done"}, "$ echo done\r\ndone\r\n", "done", "done"},
		{"cat repeats it", []string{"hello"}, "hello\r\nhello\r\n", "hello", "hello"},
		{"the prompt before the echo", []string{"x"}, "host$ x\r\n", "host", "host$ x"},
		{"scrolled away", nil, "now\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n", "now", "now"},
		{"not there", nil, "a\r\nb\r\n", "c", ""},
	} {
		for _, early := range []bool{true, false} { // whether it is known before the output
			tt := &tty{view: newView(20, 5, spool{}), changed: func() {}}
			tt.view.lines.typed, tt.view.lines.echo = c.typed, c.typed
			re := regexp.MustCompile(c.until)
			if early {
				tt.expect(re)
			}
			tt.view.write([]byte(c.out))
			tt.output = 1
			if !early {
				tt.expect(re)
			}
			if o := tt.observe(re); o.matched != (c.want != "") || tt.found() != c.want {
				t.Errorf("%s (early %v): matched %v, %q", c.name, early, o.matched, tt.found())
			}
		}
	}
}

func TestEchoIsNotMore(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   []string
		entered bool
		out     string
		want    bool // nothing but the echo came
	}{
		{"nothing", []string{"ls"}, true, "", true},
		{"the echo", []string{"ls"}, true, "ls\r\n", true},
		{"half of it", []string{"ls"}, true, "l", true},
		{"output", []string{"ls"}, true, "ls\r\na", false},
		{"a line of output", []string{"ls"}, true, "ls\r\na\r\n", false},
		{"without Enter", []string{"ls"}, false, "ls", true},
		{"a list of completions", []string{"l"}, false, "l\r\nls lsof\r\n$ l", false},
		{"two lines", []string{"a", "b"}, true, "a\r\nb\r\n", true},
		{"a line that wraps", []string{"0123456789ab"}, true, "0123456789ab\r\n", true},
		{"a full screen", []string{"vi"}, true, "vi\r\n\x1b[?1049h", false},
		{"a cleared screen", []string{"clear"}, true, "clear\r\n\x1b[H\x1b[2J", false},
	} {
		v := newView(10, 5, spool{})
		v.write([]byte("x\r\n$ "))
		e := v.echoOf(c.lines, c.entered)
		v.write([]byte(c.out))
		if got := v.covers(e); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
