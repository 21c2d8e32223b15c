package cli

import (
	"io"
	"os"
	"unicode/utf8"

	"den/internal/base/plainjson"

	"golang.org/x/term"
)

// plain returns a writer for text that files, hosts and keepers supplied. If w
// is a terminal, control characters are shown instead of sent: a name, a status
// or an error of somebody else must not drive the reader's terminal. Programs
// that read the output get the bytes as they are.
func plain(w io.Writer) io.Writer {
	if terminalOf(w) == nil {
		return w
	}
	return &plainWriter{to: w}
}

// terminalOf returns the terminal behind a writer, or nil.
func terminalOf(w io.Writer) *os.File {
	if p, ok := w.(*plainWriter); ok {
		w = p.to
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// plainWriter shows control characters but for newlines and tabs: those below
// 32 as ^X, the others as \u0085. Characters that change the direction of the
// text around them are shown too: with them a terminal can display a path or a
// command in another order than it has. It is for one goroutine.
type plainWriter struct {
	to   io.Writer
	rest []byte // the beginning of a character that the next Write completes
}

// Write never keeps more than a part of one character.
func (p *plainWriter) Write(text []byte) (int, error) {
	in := append(p.rest, text...)
	var out []byte
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		in = in[size:]
		out = plainjson.AppendText(out, r)
	}
	p.rest = in
	if _, err := p.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// plainText is text as a plainWriter shows it.
func plainText(text string) string {
	var out []byte
	for _, r := range text {
		out = plainjson.AppendText(out, r)
	}
	return string(out)
}
