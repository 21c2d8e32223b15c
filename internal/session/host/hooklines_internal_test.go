package host

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asK splits output as k 0.1.0 does once all of it is there: at LF, CR and CRLF,
// with its expressions for control sequences, trimmed, without empty lines and
// without the first lines, which are the echo.
func asK(output string, echo int) []string {
	sequences := regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|\x1b\[<[^mM]*[mM]|\x1b\[\?[^hlsr]*[hlsr]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[>=]|\x1bP.*?\x1b\\|[\x08\r]`)
	var lines []string
	for _, line := range regexp.MustCompile(`\r\n|\r|\n`).Split(output, -1) {
		if line = strings.TrimSpace(sequences.ReplaceAllString(line, "")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[min(echo, len(lines)):]
}

// What a hook gets depends on the bytes alone: in whatever chunks they come, it
// is what k's hooks get.
func TestHookLinesDoNotDependOnChunks(t *testing.T) {
	for name, c := range map[string]struct {
		code, output string
		echo         int
	}{
		"a shell":       {"echo hi", "echo hi\r\n\x1b[?2004l\rhi\r\n\x1b[?2004h$ ", 1},
		"python":        {"for i in 'ab':\n  print(i)\n", "for i in 'ab':\r\n...   print(i)\r\n... \r\na\r\nb\r\n>>> ", 2},
		"colours":       {"x", "x\r\n\x1b[1;31mred\x1b[0m and \x1b]0;title\ablue\x1b]8;;http://x\x1b\\link\r\n\x1b(B> ", 1},
		"progress":      {"x", "x\r\n10%\r20%\r100%\r\n\r\n  indented\t \r\ndone\n$ ", 1},
		"characters":    {"x", "x\r\n日本語 é 😀 ❤️\r\nשלום\r\n» ", 1},
		"no last line":  {"x", "x\r\none\r\ntwo", 1},
		"only blanks":   {"x", "x\r\n   \r\n\t\r\n", 1},
		"one long line": {"x", "x\r\n" + strings.Repeat("word ", 3000) + "\r\n$ ", 1},
	} {
		want := asK(c.output, c.echo)
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 1))
			l := newHookLines(c.code)
			var got []string
			for rest := []byte(c.output); len(rest) > 0; {
				n := 1 + random.IntN(min(len(rest), 1+random.IntN(40)))
				got = append(got, l.feed(rest[:n])...)
				rest = rest[n:]
			}
			got = append(got, l.rest()...)
			if !slices.Equal(got, want) {
				t.Fatalf("%s, seed %d:\n%q, want\n%q", name, seed, got, want)
			}
			if again := l.rest(); again != nil {
				t.Errorf("%s: the last line came twice: %q", name, again)
			}
		}
	}
}

// A line that the terminal wrapped, or that nobody echoed, is told from output.
func TestHookLinesAndEcho(t *testing.T) {
	for _, c := range []struct {
		code, output string
		want         []string
	}{
		{"echo one two three", "echo one tw\ro three\r\none two three\r\n$ ", []string{"one two three", "$"}},
		{"echo one", "$ echo one\r\none\r\n", []string{"one"}},
		{"select 1;", "1\r\n> ", []string{"1", ">"}}, // no echo
		{"a\nb", "a\r\nout\r\nb\r\n", []string{"out", "b"}},
		{"", "x\r\n", []string{"x"}},
	} {
		l := newHookLines(c.code)
		if got := append(l.feed([]byte(c.output)), l.rest()...); !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %q, want %q", c.code, c.output, got, c.want)
		}
	}
}

// Half a control sequence, or half a character, is no line yet.
func TestHookRestIsWhole(t *testing.T) {
	for _, half := range []string{"$ \x1b", "$ \x1b[3", "$ \x1b]0;ti", "$ \x1b]0;title\x1b", "$ \xe2\x80", "$ \xf0"} {
		l := newHookLines("")
		if got := append(l.feed([]byte(half)), l.rest()...); got != nil {
			t.Errorf("%q: %q", half, got)
		}
	}
	l := newHookLines("")
	if got := append(l.feed([]byte("bad \xff")), l.rest()...); !slices.Equal(got, []string{"bad \uFFFD"}) {
		t.Errorf("a byte that is no text: %q", got)
	}
}

func FuzzHookLines(f *testing.F) {
	f.Add([]byte("a\r\nb\x1b[31mc\n$ "), 3)
	f.Fuzz(func(t *testing.T, output []byte, cut int) {
		whole, parts := newHookLines("code"), newHookLines("code")
		want := append(whole.feed(output), whole.rest()...)
		cut = min(max(cut, 0), len(output))
		got := append(parts.feed(output[:cut]), parts.feed(output[cut:])...)
		if got = append(got, parts.rest()...); !slices.Equal(got, want) {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
	})
}
