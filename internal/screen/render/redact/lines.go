package redact

import (
	"bytes"
	"slices"
)

// window is how much text is searched as one: a secret that is longer may be
// missed.
const window = 64 << 10

// Lines hides secrets in lines of text that come one after the other. A secret
// may go over many lines, so the newest are kept back.
type Lines struct {
	r    *Redactor
	emit func(text []byte) error
	text []byte
}

// NewLines calls emit with the redacted text, in order. The text belongs to
// the callee only until emit returns.
func NewLines(r *Redactor, emit func(text []byte) error) *Lines {
	return &Lines{r: r, emit: emit}
}

// Add takes a line, with its end.
func (l *Lines) Add(line []byte) error {
	if l.text = append(l.text, line...); len(l.text) <= window {
		return nil
	}
	return l.release(false)
}

// Close emits what was kept back.
func (l *Lines) Close() error { return l.release(true) }

// release emits the older half, or all.
func (l *Lines) release(all bool) error {
	spans := l.r.Spans(l.text)
	cut := len(l.text)
	if !all {
		cut = cut / 2
		if nl := bytes.LastIndexByte(l.text[:cut], '\n'); nl >= 0 {
			cut = nl + 1
		}
		for _, sp := range slices.Backward(spans) {
			if sp.From > 0 && sp.From < cut && cut <= sp.To+1 {
				cut = sp.From // it may go on, also in the next line
			}
		}
	}
	n, _ := slices.BinarySearchFunc(spans, cut, func(sp Span, cut int) int { return sp.From - cut })
	for i := range spans[:n] {
		spans[i].To = min(spans[i].To, cut)
	}
	err := l.emit([]byte(masked(string(l.text[:cut]), spans[:n])))
	l.text = append(l.text[:0], l.text[cut:]...)
	return err
}
