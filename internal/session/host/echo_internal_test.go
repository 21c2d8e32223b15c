package host

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
)

// The modes that programs read input in.
var (
	cooked = ttyMode{echo: true, canonical: true} // dash, cat: the kernel echoes
	raw    = ttyMode{}                            // a line editor, or a full screen
	secret = ttyMode{canonical: true}             // a password
)

// echoRig is a terminal and what was typed at it.
type echoRig struct {
	term *vt.Terminal
	e    echoes
	seq  uint64
}

func newEchoRig(cols, rows int) *echoRig {
	return &echoRig{term: vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: 100})}
}

func (r *echoRig) typed(text string, mode ttyMode) uint64 {
	r.seq++
	r.e.typed([]byte(text), r.seq, mode, r.term)
	return r.seq
}

func (r *echoRig) output(chunk string) {
	r.seq++
	r.term.SetSeq(r.seq)
	r.term.Write([]byte(chunk))
	for _, m := range r.term.TakeMarks() {
		switch m.Kind {
		case 'B':
			r.e.promptAt(r.term, place{Line: m.Line, Col: m.Col})
		case 'C', 'D':
			r.e.promptOver(r.term)
		}
	}
	r.e.cover(r.term, []byte(chunk))
}

// shows reports whether a wait for text after event seq would match.
func (r *echoRig) shows(text string, seq uint64) bool {
	_, unmet, err := screen.Check(r.term, screen.Conditions{Text: &text, After: seq})
	return err == nil && len(unmet) == 0
}

// step is input, where mode is set, or output. Behind each the needle may or may
// not be shown.
type echoStep struct {
	in    string
	mode  ttyMode
	out   string
	shown bool
}

const (
	promptB = "\x1b]133;B\x1b\\"
	outputC = "\x1b]133;C\x1b\\"
)

func TestEcho(t *testing.T) {
	typed := func(in string, mode ttyMode) echoStep { return echoStep{in: in, mode: mode} }
	echoed := func(out string) echoStep { return echoStep{out: out} }
	printed := func(out string) echoStep { return echoStep{out: out, shown: true} }
	for name, steps := range map[string][]echoStep{
		"the kernel echoes, the program prints": {
			typed("echo NEEDLE\r", cooked), echoed("echo NEEDLE\r\n"), printed("NEEDLE\r\n"),
		},
		"both in one chunk": {typed("NEEDLE\r", cooked), printed("NEEDLE\r\nNEEDLE\r\n")},
		"cat repeats it": {
			typed("NEEDLE\r", cooked), echoed("NEEDLE\r\n"), printed("NEEDLE\r\n"),
		},
		"a password that the program prints": {typed("NEEDLE\r", secret), printed("NEEDLE\r\n")},
		"an editor echoes letter by letter": {
			typed("echo NEEDLE\r", raw), echoed("e"), echoed("cho NEE"), echoed("DLE"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"an editor draws the line again": {
			typed("echo NEEDLE\r", raw), echoed("echo NEEDLE"), echoed("\r$ \x1b[32mecho\x1b[m NEEDLE"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"an editor suggests the rest": {
			typed("echo N", raw), echoed("echo N\x1b[90mEEDLE\x1b[m\x1b[5D"), typed("EEDLE\r", raw), echoed("EEDLE"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"without Enter": {typed("echo NEEDLE", raw), echoed("echo NEEDLE")},
		"in parts": {
			typed("echo ", raw), echoed("echo "), typed("NEED", raw), echoed("NEED"), typed("LE", raw), echoed("LE"),
			typed("\r", raw), echoed("\r\n"), printed("NEEDLE"),
		},
		"with a correction": {
			typed("echo NEEDX\x7fLE\r", raw), echoed("echo NEEDX"), echoed("\b \bLE"), echoed("\r\n"), printed("NEEDLE"),
		},
		"a background job prints behind what was typed": {
			typed("ec", raw), echoed("ec"), printed("NEEDLE\r\n"),
		},
		"long input that wraps": {
			typed("echo 'a long text that wraps' NEEDLE\r", raw),
			echoed("echo 'a long text that wraps' NEEDLE"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"two lines at once": {
			typed("echo one\recho NEEDLE\r", cooked), echoed("echo one\r\necho NEEDLE\r\n"), echoed("one\r\n"), printed("NEEDLE\r\n"),
		},
		"two lines one after the other": {
			typed("one\r", cooked), typed("NEEDLE\r", cooked), echoed("one\r\nNEEDLE\r\none\r\n"), printed("NEEDLE\r\n"),
		},
		"into the output of a program": {
			typed("NEEDLE\r", cooked), echoed("1 2 3 "), echoed("4 5 NEEDLE\r\n 6 7\r\n"), printed("NEEDLE\r\n"),
		},
		"ahead of a prompt with marks": {
			typed("echo NEEDLE\r", cooked), echoed("echo NEEDLE\r\n"), echoed("done\r\n$ " + promptB), echoed("echo NEE"), echoed("DLE\r\n"),
			printed(outputC + "NEEDLE\r\n"),
		},
		"ahead of a prompt with marks, in one chunk": {
			typed("echo NEEDLE\r", cooked), echoed("echo NEEDLE\r\n"),
			echoed("done\r\n$ " + promptB + "echo NEEDLE\r\n" + outputC), printed("NEEDLE\r\n"),
		},
		"just before the prompt is drawn": {
			typed("echo NEED", raw), echoed("\r\x1b[32m/root\x1b[m $ " + promptB + "\x1b[K"), echoed("echo "), echoed("NEED"),
			typed("LE\r", raw), echoed("LE\r\n" + outputC), printed("NEEDLE\r\n"),
		},
		"ahead of an editor without marks": {
			typed("print('NEEDLE')\r", cooked), echoed("print('NEEDLE')\r\n"), echoed(string(pasteOn) + ">>> "), echoed("print('NE"), echoed("EDLE')\r\n"),
			printed("NEEDLE\r\n"),
		},
		"ahead of an editor with a prompt that was seen": {
			typed("x\r", raw), echoed("x\r\n"), typed("print('NEEDLE')\r", cooked), echoed("print('NEEDLE')\r\n"), echoed("x\r\n$ "),
			echoed("print('NEEDLE')\r\n"), printed("NEEDLE\r\n"),
		},
		"ahead of an editor whose prompt was seen before, and comes late": {
			typed("x\r", raw), echoed("x\r\n"), echoed("y\r\n"), typed("wait\r", raw), echoed("$ "), echoed("wait\r\n"),
			typed("print('NEEDLE')\r", cooked), echoed("print('NEEDLE')\r\n"), echoed("x\r\n"), echoed("$ "),
			echoed("p"), echoed("rin"), echoed("t('NEEDLE')"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"half of a line ahead of the prompt": {
			typed("x\r", raw), echoed("x\r\n"), typed("print('NE", cooked), echoed("print('NE"), echoed("$ "), echoed("print('NE"),
			typed("EDLE')\r", raw), echoed("EDLE')"), echoed("\r\n"), printed("NEEDLE\r\n"),
		},
		"typed in the middle of output": {
			typed("x\r", raw), echoed("x\r\n"), echoed("result"), typed("wait\r", raw), echoed("\r\n$ "), echoed("wait\r\n"),
			typed("print('NEEDLE')\r", cooked), echoed("print('NEEDLE')\r\n"), echoed("$ "), echoed("print('NEEDLE')\r\n"), printed("NEEDLE\r\n"),
		},
		"in the alternate screen": {
			echoed("\x1b[?1049h\x1b[5;5H"), typed("NEEDLE", raw), echoed("NEEDLE"), printed("\x1b[8;1HNEEDLE found"),
		},
		"wide characters": {typed("echo 漢字 NEEDLE\r", raw), echoed("echo 漢字 NEEDLE"), echoed("\r\n"), printed("NEEDLE")},
	} {
		for _, cols := range []int{80, 20} {
			r := newEchoRig(cols, 10)
			r.output("$ ")
			for i, s := range steps {
				if s.in != "" {
					r.typed(s.in, s.mode)
				} else {
					r.output(s.out)
				}
				if got := r.shows("NEEDLE", 1); got != s.shown {
					t.Errorf("%s, %d columns: after step %d, %q: shown %t", name, cols, i, s.in+s.out, got)
				}
			}
		}
	}
}

// Random programs: whatever is typed, and however its echo is split, no
// character of it is taken for output, and all that the program prints is.
// Typed text and output have letters of their own.
func TestEchoOfRandomPrograms(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		rig := newEchoRig([]int{80, 40, 13}[r.IntN(3)], 12)
		var said strings.Builder
		say := func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }
		output := func(text string) {
			for len(text) > 0 {
				n := min(len(text), 1+r.IntN(20))
				say("output %q", text[:n])
				rig.output(text[:n])
				text = text[n:]
			}
		}
		for range 12 {
			output(">")
			late := r.IntN(3) == 0 // the prompt is not all there when the line is typed
			if !late {
				output(" ")
			}
			mode := cooked
			if r.IntN(2) == 0 {
				mode = raw
			}
			line := randomWord(r, "abcdef ")
			say("type %q %+v", line, mode)
			rig.typed(line+"\r", mode)
			if r.IntN(6) == 0 { // its host is upgraded
				rig.e = restoredEchoes(t, rig.e)
				say("upgrade")
			}
			if late {
				output(" ")
			}
			output(line)
			output("\r\n")
			output(randomWord(r, "ABCDEF ") + "\r\n")
			if wrong := wrongEcho(rig.term); wrong != "" {
				t.Fatalf("seed %d:\n%s%s", seed, said.String(), wrong)
			}
		}
	}
}

func randomWord(r *rand.Rand, letters string) string {
	b := make([]byte, 1+r.IntN(30))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func restoredEchoes(t *testing.T, e echoes) (again echoes) {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

// wrongEcho finds a typed letter with a number, or a printed one without.
func wrongEcho(term *vt.Terminal) string {
	_, rows := term.Size()
	for y := range rows {
		row := term.Row(y)
		for x := range row.Len() {
			text := row.Cell(x).Text
			typed := text >= "a" && text <= "f"
			printed := text >= "A" && text <= "F"
			if typed && row.Seq(x) != 0 || printed && row.Seq(x) == 0 {
				return fmt.Sprintf("row %d, column %d, %q: event %d", y, x, text, row.Seq(x))
			}
		}
	}
	return ""
}

// What cannot be an echo costs nothing: the screen is not read.
func TestNoEchoIsExpected(t *testing.T) {
	r := newEchoRig(80, 24)
	r.typed("make\r", cooked)
	r.output("make\r\n")
	for range 2 * echoTries {
		r.output("cc -c x.c\r\n")
	}
	for i := range r.e.Lines {
		if l := &r.e.Lines[i]; l.Tries > 0 || l.At != nil {
			t.Errorf("still looked for: %+v", *l)
		}
	}
	for i := range 3 * maxEchoLines {
		r.typed(fmt.Sprintf("%d\r", i), cooked)
	}
	if n := len(r.e.Lines); n > maxEchoLines {
		t.Errorf("%d lines are remembered", n)
	}
}
