package host

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxHookLine bounds what is kept of a line that does not end. What is longer
// is handed over in parts.
const maxHookLine = 1 << 20

// hookLines splits a cell's output into the lines that a hook gets. They depend
// on the bytes alone, not on how these were cut into chunks: complete lines, and
// the unfinished one only when rest says that the program writes no more.
//
// A line ends at a newline or a carriage return. It has no control sequences and
// no blanks at its ends, and is never empty. The echo of the code is left out.
type hookLines struct {
	part []byte   // of the line that has not ended
	echo []string // what of the code was not echoed yet, without blanks
}

func newHookLines(code string) *hookLines {
	var l hookLines
	for line := range strings.Lines(code) {
		if compact := withoutBlanks(line); compact != "" {
			l.echo = append(l.echo, compact)
		}
	}
	return &l
}

// feed returns the lines that a chunk completes.
func (l *hookLines) feed(chunk []byte) (lines []string) {
	for len(chunk) > 0 {
		room := chunk[:min(len(chunk), maxHookLine-len(l.part))]
		if end := bytes.IndexAny(room, "\r\n"); end >= 0 {
			l.part = append(l.part, chunk[:end]...)
			lines = append(lines, l.take()...)
			chunk = chunk[end+1:]
			continue
		}
		l.part = append(l.part, room...)
		chunk = chunk[len(room):]
		if len(l.part) == maxHookLine {
			lines = append(lines, l.take()...)
		}
	}
	return lines
}

// rest returns the line that has not ended: a prompt, as a rule. It returns none
// while a control sequence or a character in it is incomplete.
func (l *hookLines) rest() []string {
	if openSequence().Match(l.part) {
		return nil
	}
	if r, size := utf8.DecodeLastRune(l.part); r == utf8.RuneError && size == 1 && !utf8.FullRune(lastBytes(l.part)) {
		return nil
	}
	return l.take()
}

// lastBytes returns the bytes of the character that may be incomplete.
func lastBytes(p []byte) []byte {
	begin := len(p) - 1
	for begin > 0 && len(p)-begin < utf8.UTFMax && !utf8.RuneStart(p[begin]) {
		begin--
	}
	return p[begin:]
}

// take returns the line so far, unless it is empty or an echo.
func (l *hookLines) take() []string {
	line := l.part
	l.part = l.part[:0]
	if hasControl(line) {
		line = control().ReplaceAll(line, nil)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	if text == "" || l.isEcho(text) {
		return nil
	}
	return []string{text}
}

// isEcho reports whether a line is the echo of the next line of code, behind a
// prompt or without, or a part of it where the terminal wrapped. The first line
// that is not ends the echo.
func (l *hookLines) isEcho(text string) bool {
	if len(l.echo) == 0 {
		return false
	}
	shown := withoutBlanks(text)
	switch next := l.echo[0]; {
	case strings.HasSuffix(shown, next):
		l.echo = l.echo[1:]
	case strings.HasPrefix(next, shown):
		l.echo[0] = next[len(shown):]
	default:
		l.echo = nil
		return false
	}
	return true
}

func withoutBlanks(s string) string { return strings.Join(strings.Fields(s), "") }

func hasControl(line []byte) bool {
	for _, b := range line {
		if b < ' ' && b != '\t' || b == 0x7f {
			return true
		}
	}
	return false
}

// control matches control sequences.
var control = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f]")
})

// openSequence matches a control sequence that has not ended, at the end.
var openSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$")
})
