package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

func TestCharactersRememberTheEventThatWroteThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string // numbered from 1
		want   string   // the rows, each character as the number of its event
	}{
		{"one event", []string{"abc"}, "111"},
		{"a row of two", []string{"abc", "de"}, "11122"},
		{"overwritten in part", []string{"abcdef", "\rxy"}, "221111"},
		{"overwritten as a whole", []string{"abc", "\rxyz"}, "222"},
		{"erased and written again", []string{"abc", "\x1b[2K\rx"}, "2"},
		{"erased in part", []string{"abcdef", "\x1b[3D\x1b[K"}, "111"},
		{"scrolled", []string{"a\r\n", "b\r\n", "c\r\n", "d\r\n", "e"}, "3|4|5"},
		{"inserted before text", []string{"abc", "\r\x1b[2@xy"}, "22111"},
		{"deleted before text", []string{"ab", "cd", "\r\x1b[P"}, "122"},
		{"wrapped", []string{"abcdefgh", "ijkl"}, "1111111122|22"},
		{"lines inserted above", []string{"a\r\nb\r\n", "\x1b[H\x1b[Lx"}, "2|1|1"},
		{"a mark joins a character", []string{"ab", "\u0301"}, "12"},
		{"a wide character", []string{"日", "本"}, "1 2"},
		{"repeated", []string{"a", "\x1b[2b"}, "122"},
		{"filled", []string{"abc", "\x1b[120;1;2;1;2$x"}, "121"},
		{"the alternate screen", []string{"abc", "\x1b[?1049hx", "\x1b[?1049l"}, "111"},
		{"an unfinished sequence", []string{"a\x1b[3", "1mb"}, "12"},
	} {
		term := vt.New(config(10, 3, 10))
		for i, w := range c.writes {
			term.SetSeq(uint64(i + 1))
			term.Write([]byte(w))
		}
		if got := numbers(term); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// numbers is the screen with every character as the number of its event.
func numbers(term *vt.Terminal) string {
	var rows []string
	_, n := term.Size()
	for y := range n {
		var b strings.Builder
		row := term.Row(y)
		for x := range row.Len() {
			if row.Cell(x).Text == "" {
				b.WriteByte(' ')
			} else {
				fmt.Fprint(&b, row.Seq(x))
			}
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return strings.TrimRight(strings.Join(rows, "|"), "|")
}

// stampLaw: every event writes a character of its own, so the screen itself
// says who wrote what, whatever moved it.
func stampLaw(cfg vt.Config, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 6))
	term := vt.New(cfg)
	var said strings.Builder
	for seq := 1; seq <= 60; seq++ {
		term.SetSeq(uint64(seq))
		if r.IntN(8) == 0 {
			cols, rows := randomSize(r)
			term.Resize(cols, rows)
			fmt.Fprintf(&said, "resize %dx%d\n", cols, rows)
		} else {
			out := eventOutput(r, seq)
			term.Write([]byte(out))
			fmt.Fprintf(&said, "event %d %q\n", seq, out)
		}
		if r.IntN(10) == 0 {
			now := cfg
			now.Cols, now.Rows = term.Size()
			again := vt.New(now)
			again.Write(term.Dump())
			term = again
			said.WriteString("dumped and read\n")
		}
		if wrong := wrongNumber(term); wrong != "" {
			return said.String() + wrong
		}
	}
	return ""
}

// The characters of event n: a narrow one and a wide one.
func narrowOf(n int) rune { return rune(0x100 + n) }
func wideOf(n int) rune   { return rune(0x4e00 + n) }

func eventOutput(r *rand.Rand, seq int) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		text := strings.Repeat(string(narrowOf(seq)), 1+r.IntN(12))
		if r.IntN(4) == 0 {
			text = strings.Repeat(string(wideOf(seq)), 1+r.IntN(5))
		}
		controls := []string{
			"\r\n", "\n\n\n", "\r", "\b\b", fmt.Sprintf("\x1b[%d;%dH", 1+r.IntN(6), 1+r.IntN(20)), "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[2J",
			"\x1b[3@", "\x1b[2P", "\x1b[L", "\x1b[2M", "\x1b[S", "\x1b[T", "\x1b[4X", "\x1b[2;4r", "\x1b[r", "\x1b[?69h\x1b[2;5s", "\x1b[?69l",
			"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[4h", "\x1b[4l", "\x1bM", "\x1b[2'}", "\x1b[2'~", "\x1b[31m", "\x1b[44m", "\x1b[m",
			"\x1b[2 @", "\x1b[2 A", "\x1b7", "\x1b8", "\x1b[?7l", "\x1b[?7h", "\x1b[!p",
		}
		b.WriteString(text + controls[r.IntN(len(controls))])
	}
	return b.String()
}

// wrongNumber finds a character, on the screen or above it, whose number is not that of the event that
// printed it.
func wrongNumber(term *vt.Terminal) string {
	_, rows := term.Size()
	for y := -term.ScrollbackLen(); y < rows; y++ {
		row := term.Row(y)
		for x := range row.Len() {
			for _, c := range row.Cell(x).Text {
				want := int(c) - 0x100
				if c >= 0x4e00 {
					want = int(c) - 0x4e00
				}
				if got := row.Seq(x); c > 0x100 && got != uint64(want) {
					return fmt.Sprintf("row %d, column %d: written by event %d, not %d", y, x, want, got)
				}
				if last := row.MaxSeq(); c > 0x100 && last < uint64(want) {
					return fmt.Sprintf("row %d, column %d: written by event %d, the row at last by %d", y, x, want, last)
				}
			}
		}
	}
	return ""
}

func TestNumbersFollowTheirCharacters(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		cols, rows := randomSize(r)
		cfg := config(cols, rows, r.IntN(3)*20)
		if d := stampLaw(cfg, seed); d != "" {
			t.Fatalf("seed %d, %dx%d with %d rows of scrollback:\n%s", seed, cols, rows, cfg.Scrollback, d)
		}
	}
}
