package host

import (
	"bytes"
	"slices"
	"strings"

	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// echoes finds on the screen what the terminal repeats of the input that den
// sends it, so that no wait takes it for output. Whoever repeats it, the
// kernel or the line editor of a shell, does so where the cursor stands: the
// run of characters that begins there, repeats the input and was written after
// it is its echo. Input that is sent ahead of a prompt is echoed at once by the
// kernel, and again by the line editor that reads it later.
//
// It survives an upgrade.
type echoes struct {
	Typing typedLine  `json:"typing"`           // the line that is being typed
	Lines  []echoLine `json:"lines,omitempty"`  // oldest first
	Prompt *place     `json:"prompt,omitempty"` // where a shell with marks reads its line
	Left   []string   `json:"left,omitempty"`   // what stood left of the cursor when lines were typed at editors: their prompts
}

// echoLine is a line of input whose echo is expected.
type echoLine struct {
	Text    string `json:"text"`
	Seq     uint64 `json:"seq"`               // of the input: its echo is written later
	Entered bool   `json:"entered,omitempty"` // Enter was typed behind it
	Kernel  bool   `json:"kernel,omitempty"`  // the kernel echoes it; else only a line editor may
	Ahead   bool   `json:"ahead,omitempty"`   // a line editor may echo it when it begins to read
	At      *place `json:"at,omitempty"`      // where the echo begins, or nil: unknown
	Tries   int    `json:"tries,omitempty"`   // turns in which the whole screen is searched for it
	Starts  int    `json:"starts,omitempty"`  // of line editors that were waited for
}

// Bounds of what is remembered. The oldest lines are forgotten first: their
// echo would then count as output.
const (
	maxEchoLines = 32
	echoTries    = 8
	maxStarts    = 8
	maxPrompts   = 4
	// minEchoStart is how much of a line is taken for the begin of its echo,
	// where that is not certain.
	minEchoStart = 4
)

// pasteOn switches bracketed paste on, as line editors do when they begin to
// read a line.
var pasteOn = []byte("\x1b[?2004h")

// ttyMode is how the terminal treats input.
type ttyMode struct{ echo, canonical bool }

// hides reports whether input is shown to nobody, as passwords are.
func (m ttyMode) hides() bool { return m.canonical && !m.echo }

// typed notes input that is about to be sent.
func (e *echoes) typed(data []byte, seq uint64, mode ttyMode, term *vt.Terminal) {
	if mode.hides() {
		e.Typing = typedLine{}
		e.Lines = slices.DeleteFunc(e.Lines, func(l echoLine) bool { return !l.Entered })
		return
	}
	for len(data) > 0 {
		part, enter := data, false
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			part, enter = data[:i], true
			data = data[i+1:]
		} else {
			data = nil
		}
		e.Typing.typed(part, mode.canonical)
		l := e.current(seq, mode, term)
		l.Text = string(e.Typing.Text)
		if enter {
			l.Entered = true
			e.Typing.Text = e.Typing.Text[:0]
		}
		if l.Text == "" {
			e.Lines = e.Lines[:len(e.Lines)-1]
		}
	}
	if over := len(e.Lines) - maxEchoLines; over > 0 {
		e.Lines = append(e.Lines[:0], e.Lines[over:]...)
	}
}

// current returns the line that is being typed.
func (e *echoes) current(seq uint64, mode ttyMode, term *vt.Terminal) *echoLine {
	if n := len(e.Lines); n > 0 && !e.Lines[n-1].Entered {
		e.Lines[n-1].Tries = echoTries
		return &e.Lines[n-1]
	}
	l := echoLine{Seq: seq, Kernel: mode.echo, Tries: echoTries}
	if !e.awaited() { // nothing is to be shown before it
		at := cursorPlace(term)
		l.At = &at
		if !mode.echo {
			e.atEditor(term)
		}
	}
	e.Lines = append(e.Lines, l)
	return &e.Lines[len(e.Lines)-1]
}

// atEditor notes that a line editor waits for a line: it has read those that
// were sent ahead.
func (e *echoes) atEditor(term *vt.Terminal) {
	e.Lines = slices.DeleteFunc(e.Lines, func(l echoLine) bool { return l.Ahead })
	cur := term.Cursor()
	left := cell.TextLeft(term, term.ScreenLine()+int64(cur.Row), cur.Col)
	if left = strings.TrimSpace(left); left == "" || slices.Contains(e.Left, left) {
		return // its prompt is still to come, or known
	}
	if e.Left = append(e.Left, left); len(e.Left) > maxPrompts {
		e.Left = e.Left[1:]
	}
}

// editorStarts reports whether a line editor may begin to read in a chunk of
// output: it switches bracketed paste on, or shows a prompt that was seen
// before.
func (e *echoes) editorStarts(chunk []byte) bool {
	return bytes.Contains(chunk, pasteOn) ||
		slices.ContainsFunc(e.Left, func(left string) bool { return bytes.Contains(chunk, []byte(left)) })
}

// awaited reports whether the echo of an earlier line has not come yet.
func (e *echoes) awaited() bool {
	for i := range e.Lines {
		if l := &e.Lines[i]; l.Entered && !l.Ahead {
			return true
		}
	}
	return false
}

// cover gives echoes on the screen the number 0, after a chunk of output was
// written to it.
func (e *echoes) cover(term *vt.Terminal, chunk []byte) {
	if len(e.Lines) == 0 {
		return
	}
	starts := e.editorStarts(chunk)
	kept := e.Lines[:0]
	for _, l := range e.Lines {
		if starts && (l.Ahead || !l.Entered) && l.Tries == 0 && l.Starts < maxStarts {
			l.Tries = echoTries
			l.Starts++
		}
		if !e.coverLine(term, &l) {
			kept = append(kept, l)
		}
	}
	e.Lines = kept
}

// coverLine covers one line's echo, and reports whether no more is expected.
func (e *echoes) coverLine(term *vt.Terminal, l *echoLine) (done bool) {
	if e.Prompt != nil && e.coverAt(term, l, *e.Prompt) && l.Entered {
		return true
	}
	if l.At != nil {
		if e.coverAt(term, l, *l.At) && l.Entered {
			return l.shown()
		}
		if repeated(term, *l.At, l.Text).atCursor(term) {
			return false // it goes on there
		}
	}
	if l.Tries > 0 {
		l.Tries--
		if at, ok := findEcho(term, l); ok {
			l.At = &at
			return e.coverAt(term, l, at) && l.shown()
		}
		return false
	}
	if !l.Entered || l.Ahead {
		return false
	}
	l.Ahead = true
	return l.At != nil // it was not echoed
}

// shown notes that the echo is complete, and reports whether it was the last.
func (l *echoLine) shown() (last bool) {
	if !l.Entered {
		return false
	}
	last = l.Ahead || !l.Kernel
	l.Ahead, l.At, l.Tries = true, nil, 0
	return last
}

// coverAt covers what stands of a line at a place, and reports whether the
// echo is complete: all of it is there, and the cursor has left it if Enter
// was typed.
func (e *echoes) coverAt(term *vt.Terminal, l *echoLine, at place) bool {
	r := repeated(term, at, l.Text)
	if r.n == 0 {
		return false
	}
	forget(term, at, r.end, l.Seq)
	whole := l.isWhole(r)
	if whole && l.Entered && r.end.leftBy(term) {
		return true
	}
	if !l.Kernel && r.atCursor(term) {
		// What a line editor shows behind the cursor is its own: a suggestion, or
		// a prompt at the right.
		forget(term, r.end, r.end.rowEnd(term), l.Seq)
	}
	return whole && !l.Entered
}

// isWhole reports whether all of the line stands there.
func (l *echoLine) isWhole(r repeat) bool { return r.n >= len(strings.TrimRight(l.Text, " ")) }

// promptAt notes where a shell reads its next line. A line that was sent ahead
// is echoed there.
func (e *echoes) promptAt(term *vt.Terminal, at place) {
	e.Prompt = &at
	e.cover(term, nil)
}

// promptOver notes that the shell does not read a line any more.
func (e *echoes) promptOver(term *vt.Terminal) {
	if e.Prompt != nil {
		e.cover(term, nil)
		e.Prompt = nil
	}
}

// resized notes that text may stand elsewhere now, and be drawn again.
func (e *echoes) resized() {
	e.Prompt = nil
	for i := range e.Lines {
		if l := &e.Lines[i]; !l.Ahead {
			l.At, l.Tries = nil, echoTries
		}
	}
}
