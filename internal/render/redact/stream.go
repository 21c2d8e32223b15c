package redact

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// window is how much text is looked at as one: a secret that is longer, or
// whose parts come further apart, may be missed.
const window = 64 << 10

// Stream hides secrets in output that comes in pieces, whatever pieces a
// secret is cut into. What it cannot decide yet it keeps back.
type Stream[T any] struct {
	r    *Redactor
	emit func(tag T, data []byte) error

	scan   scanner
	raw    []byte
	pieces []piece[T]
	err    error // of emit; nothing is emitted behind it
}

type piece[T any] struct {
	tag    T
	end    int // in raw
	output bool
}

// NewStream calls emit for each piece, in order, with its data redacted. The
// data belongs to the callee only until emit returns.
func NewStream[T any](r *Redactor, emit func(tag T, data []byte) error) *Stream[T] {
	return &Stream[T]{r: r, emit: emit}
}

// Output takes a piece of what the program wrote.
func (s *Stream[T]) Output(tag T, data []byte) error {
	s.scan.scan(data, len(s.raw))
	s.raw = append(s.raw, data...)
	s.pieces = append(s.pieces, piece[T]{tag, len(s.raw), true})
	if len(s.scan.text) > window || len(s.raw) > 16*window {
		s.release(false)
	}
	return s.err
}

// Other takes something that is no output; it is emitted without data, in its
// place.
func (s *Stream[T]) Other(tag T) error {
	s.pieces = append(s.pieces, piece[T]{tag: tag, end: len(s.raw)})
	return s.err
}

// Close emits what was kept back.
func (s *Stream[T]) Close() error {
	s.release(true)
	return s.err
}

// release emits the pieces that later ones can no longer change.
func (s *Stream[T]) release(all bool) {
	spans := s.hidden()
	cut := len(s.raw)
	if !all {
		cut = s.stableEnd(spans)
	}
	n, from := 0, 0
	for _, p := range s.pieces {
		if p.end > cut {
			break
		}
		if s.err == nil {
			var data []byte
			if p.output {
				data = redacted(s.raw[from:p.end], from, spans)
			}
			s.err = s.emit(p.tag, data)
		}
		n, from = n+1, p.end
	}
	s.forget(n, from)
}

// hidden returns the places in raw of the bytes to hide: one span for each run
// of bytes that follow each other there.
func (s *Stream[T]) hidden() []Span {
	var spans []Span
	take := func(text []byte, at []int) {
		for _, sp := range s.r.Spans(text) {
			for i := sp.From; i < sp.To; i++ {
				if text[i] >= ' ' {
					spans = append(spans, Span{at[i], at[i] + 1})
				}
			}
		}
	}
	take(s.scan.text, s.scan.at)
	take(without(s.scan.text, s.scan.at, softBreak))
	for _, str := range s.scan.strs {
		for _, sp := range s.r.Spans(s.raw[str.From:str.To]) {
			spans = append(spans, Span{str.From + sp.From, str.From + sp.To})
		}
	}
	return merged(spans)
}

// without leaves out all bytes of one kind.
func without(text []byte, at []int, kind byte) ([]byte, []int) {
	if !bytes.Contains(text, []byte{kind}) {
		return nil, nil
	}
	var t []byte
	var a []int
	for i, c := range text {
		if c != kind {
			t, a = append(t, c), append(a, at[i])
		}
	}
	return t, a
}

// stableEnd returns the offset in raw up to which later output changes nothing:
// the end of a line in the older half, before a secret that may continue.
func (s *Stream[T]) stableEnd(spans []Span) int {
	text, at := s.scan.text, s.scan.at
	if len(text) == 0 {
		return len(s.raw) // nothing but sequences
	}
	half := len(text) / 2
	if nl := bytes.LastIndexByte(text[:half], '\n'); nl > 0 {
		half = nl
	}
	cut := at[half]
	for _, sp := range spans {
		if sp.From < cut && cut < sp.To {
			cut = sp.From
		}
	}
	return cut
}

// forget drops the first n pieces, which end at place from.
func (s *Stream[T]) forget(n, from int) {
	s.pieces = slices.Delete(s.pieces, 0, n)
	s.raw = slices.Delete(s.raw, 0, from)
	for i := range s.pieces {
		s.pieces[i].end -= from
	}
	first, _ := slices.BinarySearch(s.scan.at, from)
	s.scan.text = slices.Delete(s.scan.text, 0, first)
	s.scan.at = slices.Delete(s.scan.at, 0, first)
	for i := range s.scan.at {
		s.scan.at[i] -= from
	}
	s.scan.strs = slices.DeleteFunc(s.scan.strs, func(sp Span) bool { return sp.From < from })
	for i := range s.scan.strs {
		s.scan.strs[i].From -= from
		s.scan.strs[i].To -= from
	}
	s.scan.open -= from
}

// redacted returns data, whose first byte is at place pos, with masks in the
// spans. A character is masked by the piece that its first byte is in.
func redacted(data []byte, pos int, spans []Span) []byte {
	i, _ := slices.BinarySearchFunc(spans, pos, func(sp Span, pos int) int {
		if sp.To <= pos {
			return -1
		}
		return 1
	})
	if i == len(spans) || spans[i].From >= pos+len(data) {
		return data
	}
	var out []byte
	for k := 0; k < len(data); {
		for i < len(spans) && spans[i].To <= pos+k {
			i++
		}
		if i == len(spans) || pos+k < spans[i].From {
			out = append(out, data[k])
			k++
			continue
		}
		c, n := utf8.DecodeRune(data[k:])
		if c != utf8.RuneError || utf8.RuneStart(data[k]) {
			out = append(out, maskOf(c)...)
		}
		k += n
	}
	return out
}
