package redact

import (
	"bytes"
	"slices"
)

// pieceLen is the length from which a piece of a known secret is hidden
// wherever it stands.
const pieceLen = 8

// Shorter pieces are hidden where they are a whole word, and the beginning or
// the end of a secret of some length: on the edge of a screen, or half typed.
const (
	minEnd        = 4
	minWithEnds   = 16
	maxPieces     = 1 << 18 // of all secrets: some hundred private keys; what comes later is found by its form alone
	maxEnds       = 1 << 16
	maxAdded      = 1 << 12
	filterBits    = 18
	filterFactor  = 0x9E3779B97F4A7C15
	filterEntries = 1 << filterBits
)

// Secrets are the values that were recognised by their form in one recording.
// A screen may show a part of one that has no form: without its beginning,
// between two windows, or painted over another text.
type Secrets struct {
	pieces map[uint64]struct{} // each pieceLen bytes of each secret
	filter []uint64            // a bit for the hash of each piece: most texts hold none
	ends   map[string]struct{} // the shorter beginnings and ends
	added  map[string]struct{} // the last words that were added: most come again with the next screen
}

// NewSecrets returns an empty set.
func NewSecrets() *Secrets {
	return &Secrets{pieces: map[uint64]struct{}{}, filter: make([]uint64, filterEntries/64), ends: map[string]struct{}{}, added: map[string]struct{}{}}
}

// add takes a secret without blanks.
func (s *Secrets) add(word []byte) {
	if _, ok := s.added[string(word)]; ok {
		return
	}
	if len(s.added) >= maxAdded {
		clear(s.added)
	}
	s.added[string(word)] = struct{}{}
	for i := 0; i+pieceLen <= len(word) && len(s.pieces) < maxPieces; i++ {
		s.addPiece(word[i : i+pieceLen])
	}
	if len(word) < minWithEnds {
		return
	}
	for n := minEnd; n < pieceLen && len(s.ends) < maxEnds; n++ {
		s.ends[string(word[:n])] = struct{}{}
		s.ends[string(word[len(word)-n:])] = struct{}{}
	}
}

func (s *Secrets) addPiece(p []byte) {
	if bytes.Count(p, p[:1]) == len(p) {
		return // a ruler, not a secret
	}
	var key uint64
	for _, c := range p {
		key = key<<8 | uint64(c)
	}
	s.pieces[key] = struct{}{}
	bit := key * filterFactor >> (64 - filterBits)
	s.filter[bit/64] |= 1 << (bit % 64)
}

func (s *Secrets) hasPiece(key uint64) bool {
	bit := key * filterFactor >> (64 - filterBits)
	if s.filter[bit/64]&(1<<(bit%64)) == 0 {
		return false
	}
	_, ok := s.pieces[key]
	return ok
}

// appendSpans appends the parts of text that are pieces of secrets, with the
// rest of the words that they stand in: it may be a part that was never seen
// together with the form.
func (s *Secrets) appendSpans(spans []Span, text []byte) []Span {
	if s == nil || len(s.pieces) == 0 {
		return spans
	}
	var last uint64 // the last pieceLen bytes
	word, known := 0, false
	for i, c := range text {
		last = last<<8 | uint64(c)
		if i+1 >= pieceLen && s.hasPiece(last) {
			known = true
			spans = append(spans, Span{i + 1 - pieceLen, i + 1})
		}
		if !wordByte(c) {
			spans = s.appendWord(spans, text, Span{word, i}, known)
			word, known = i+1, false
		}
	}
	return s.appendWord(spans, text, Span{word, len(text)}, known)
}

// appendWord appends a word that has a piece of a secret in it, or is the
// beginning or the end of one.
func (s *Secrets) appendWord(spans []Span, text []byte, word Span, known bool) []Span {
	if n := word.To - word.From; !known && n >= minEnd && n < pieceLen {
		_, known = s.ends[string(text[word.From:word.To])]
	}
	if known && word.From < word.To {
		spans = append(spans, word)
	}
	return spans
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// random reports whether a word looks like a secret.
func random(word []byte) bool { return len(word) >= pieceLen && mixed(word) }

// mixed reports letters and digits.
func mixed(value []byte) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	return slices.ContainsFunc(value, digit) && slices.ContainsFunc(value, letter)
}
