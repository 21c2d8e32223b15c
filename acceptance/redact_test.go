package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

// The tokens are made up: the same but for their last characters.
var (
	tokenHead = "ghp_" + "Q7xV2LmZ9pKc4RtW8nBd5HsJ1fGa"
	tokenOne  = tokenHead + "Yu3Ei6Ow0Tz8"
	tokenTwo  = tokenHead + "Ck7Mb2Nv9Xd4"
)

// showing is a program that shows the tokens, and what is done to it.
type showing struct {
	name  string
	argv  []string
	first string // on the screen before the first step
	steps []shown
}

// shown is a verb with its words behind the session's name, or a new content
// of the file, and what the screen shows then.
type shown struct {
	verb  []string
	write string
	text  string
}

// curses draws a token, changes its end alone, cuts it at the right edge and
// wraps it in a window between others.
const curses = `
import curses, sys
one, two = sys.argv[1:]
def main(s):
    rows, cols = s.getmaxyx()
    s.addstr(0, 0, "plain text"); s.addstr(2, 5, one); s.getch()
    s.addstr(2, 33, two[28:]); s.addstr(9, 0, "changed"); s.getch()
    s.addnstr(4, cols - 10, one, 9); s.addstr(5, 0, two[20:]); s.addstr(10, 0, "cut"); s.getch()
    w = curses.newwin(5, 14, 12, 30); w.addstr(0, 0, one); s.addstr(11, 0, "window"); s.refresh(); w.refresh(); s.getch()
curses.wrapper(main)
`

// Programs repaint parts of lines. Whatever part of a token they paint, no
// recording, picture or text under --redact-tokens has eight characters of it.
func TestRedactedProgramsShowNoPartOfAToken(t *testing.T) {
	dir := t.TempDir()
	file, script := filepath.Join(dir, "f"), filepath.Join(dir, "draw.py")
	content := strings.Repeat("0123456789", 5) + " token " + tokenOne + " plain text\nother token " + tokenTwo + "\n" + strings.Repeat("plain text\n", 40)
	for path, text := range map[string]string{file: content, script: curses} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watched := filepath.Join(dir, "watched")
	for _, p := range []showing{
		{"watch", []string{"watch", "-t", "-n", ".3", "cat", watched}, tokenOne, []shown{
			{write: "token " + tokenTwo + " plain text\n", text: tokenTwo},
			{write: "token " + tokenOne + " plain text\n", text: tokenOne},
		}},
		{"less", []string{"less", "-S", file}, "token", []shown{
			{verb: []string{"keys", "Right"}, text: tokenOne[:20]},
			{verb: []string{"keys", "1", "5", "Right"}, text: tokenOne[20:]},
			{verb: []string{"keys", "g", "/", "t", "W", "8", "n", "Enter"}, text: "other token"},
		}},
		{"vim", []string{"vim", "-u", "NONE", "-N", "--not-a-term", "+set nowrap hlsearch", file}, tokenTwo, []shown{
			{verb: []string{"keys", "0", "7", "0", "z", "l"}, text: tokenOne[13:]},
			{verb: []string{"keys", "/", "t", "W", "8", "n", "Enter"}, text: "/tW8n"},
			{verb: []string{"keys", "Escape", ":", "s", "e", "t", "Space", "n", "u", "Space", "w", "r", "a", "p", "Enter", "G", "o"}, text: "INSERT"},
			{verb: []string{"type", strings.Repeat("x", 60) + " " + tokenTwo}, text: tokenTwo[len(tokenTwo)-4:]},
		}},
		{"python3", []string{"python3", script, tokenOne, tokenTwo}, tokenOne, []shown{
			{verb: []string{"keys", "x"}, text: "changed"}, {verb: []string{"keys", "x"}, text: "cut"}, {verb: []string{"keys", "x"}, text: "window"},
		}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, p.name)
			w := newWorld(t)
			if p.name == "watch" {
				put(t, watched, "token "+tokenOne+" plain text\n")
			}
			w.do(append([]string{"new", "p", "--cols", "80", "--rows", "24", "--"}, p.argv...)...)
			w.do("wait", "p", "--text", p.first, "-t", "60s")
			for _, s := range p.steps {
				if s.write != "" {
					put(t, watched, s.write)
				} else {
					w.do(append([]string{s.verb[0], "p"}, s.verb[1:]...)...)
				}
				w.do("wait", "p", "--text", s.text, "-t", "60s")
				w.do("wait", "p", "--stable", "300ms", "-t", "60s")
				for _, out := range redactedScreens(w) {
					noToken(t, out, "a screen")
				}
			}
			w.do("kill", "p")
			if clear := w.do("export", "p", "--format", "cast", "-o", "-"); !strings.Contains(clear, tokenHead[:8]) {
				t.Fatal("the recording has no token at all")
			}
			for _, format := range []string{"cast", "cast2", "text"} {
				out := w.do("export", "p", "--format", format, "-o", "-", "--redact-tokens")
				noToken(t, out, format)
				if format != "text" && (!strings.Contains(out, "****") || !strings.Contains(out, "plain text")) {
					t.Errorf("%s has no mask, or nothing else:\n%s", format, out)
				}
			}
		})
	}
}

// redactedScreens is the current screen in the forms that have text.
func redactedScreens(w *world) []string {
	return []string{
		w.do("snapshot", "p", "--redact-tokens"), w.do("snapshot", "p", "--format", "html", "--redact-tokens"),
		w.do("snapshot", "p", "--format", "json", "--redact-tokens"), w.do("screenshot", "p", "--format", "svg", "-o", "-", "--redact-tokens"),
	}
}

// put replaces a file, so that nobody reads half of it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func noToken(t *testing.T, out, what string) {
	t.Helper()
	for _, token := range []string{tokenOne, tokenTwo} {
		for i := 0; i+8 <= len(token); i++ {
			if strings.Contains(out, token[i:i+8]) {
				t.Fatalf("%s has %q of %q:\n%s", what, token[i:i+8], token, out)
			}
		}
	}
}
