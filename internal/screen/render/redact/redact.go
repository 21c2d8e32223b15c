// Package redact finds text that must not be shown: matches of a caller's
// patterns, and tokens of well-known formats.
package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"den/internal/base/fault"
)

// Mask stands for each hidden character.
const Mask = '*'

// Redactor hides what its patterns match, and pieces of known secrets. A nil
// Redactor hides nothing.
type Redactor struct {
	patterns []pattern
	known    *Secrets // or nil
}

// New returns a redactor for the given expressions and, with tokens, for
// common kinds of secrets; nil when there is nothing to hide. Of an expression
// with groups only what the groups match is hidden.
func New(expressions []string, tokens bool) (*Redactor, error) {
	r := &Redactor{}
	for _, e := range expressions {
		re, err := regexp.Compile(e)
		if err != nil {
			return nil, fault.Hintf(fault.Errorf(fault.Usage, "redact '%s': %w", e, err), "expressions are those of Go: https://go.dev/s/re2syntax")
		}
		if re.MatchString("") {
			return nil, fault.Errorf(fault.Usage, "redact '%s': it matches everywhere, for it matches nothing at all", e)
		}
		r.patterns = append(r.patterns, pattern{re: re})
	}
	if tokens {
		r.patterns = append(r.patterns, tokenPatterns.Get()...)
	}
	if len(r.patterns) == 0 {
		return nil, nil
	}
	return r, nil
}

// A Span is a part of a text, from its first byte up to its end.
type Span struct{ From, To int }

// Knowing returns a redactor that also hides the pieces of these secrets.
func (r *Redactor) Knowing(s *Secrets) *Redactor {
	if r == nil {
		return nil
	}
	return &Redactor{patterns: r.patterns, known: s}
}

// Collect adds to s what the patterns match in text. Of the caller's own
// expressions, of passwords and of long texts, only words that look like
// secrets are taken: the others would hide too much.
func (r *Redactor) Collect(text []byte, s *Secrets) {
	if r == nil {
		return
	}
	text, _ = visible(text)
	r.find(text, func(p *pattern, parts []Span) {
		var value []byte
		for _, sp := range parts {
			value = append(value, text[sp.From:sp.To]...)
		}
		for _, word := range bytes.Fields(value) {
			if p.breaks || random(word) {
				s.add(word)
			}
		}
	})
	// What was seen in one part and now stands in another, which overlaps it.
	for _, sp := range merged(s.appendSpans(nil, text)) {
		s.add(text[sp.From:sp.To])
	}
}

// Spans returns the parts of text to hide, in order, none touching another.
func (r *Redactor) Spans(text []byte) []Span {
	if r == nil {
		return nil
	}
	clean, at := visible(text)
	spans := asWritten(r.spans(clean), at)
	if at != nil {
		spans = append(spans, r.spans(text)...) // an expression may mean what nobody sees
	}
	return merged(spans)
}

func (r *Redactor) spans(text []byte) []Span {
	var spans []Span
	r.find(text, func(_ *pattern, parts []Span) { spans = append(spans, parts...) })
	return r.known.appendSpans(spans, text)
}

// find calls found with each secret that the patterns match. A secret has more
// than one part if it is broken into lines.
func (r *Redactor) find(text []byte, found func(p *pattern, parts []Span)) {
	for i := range r.patterns {
		p := &r.patterns[i]
		for _, region := range p.regions(text) {
			for _, m := range p.re.FindAllSubmatchIndex(text[region.From:region.To], -1) {
				p.groups(text, region.From, m, found)
			}
		}
	}
}

// groups calls found with what a match at place from hides: its groups, or all.
func (p *pattern) groups(text []byte, from int, m []int, found func(p *pattern, parts []Span)) {
	if len(m) > 2 {
		m = m[2:]
	}
	for i := 0; i < len(m); i += 2 {
		if m[i] >= m[i+1] {
			continue
		}
		first := Span{from + m[i], from + m[i+1]}
		parts := []Span{first}
		if p.breaks {
			parts = append(parts, rest(text, first.To, first.To-first.From, p.full)...)
		}
		found(p, parts)
	}
}

// merged sorts spans and joins those that touch.
func merged(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.From - b.From })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// Text returns s with a mask for every character that is hidden. Line breaks
// stay.
func (r *Redactor) Text(s string) string {
	return masked(s, r.Spans([]byte(s)))
}

// masked returns s with masks in the spans.
func masked(s string, spans []Span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.From])
		for _, c := range s[sp.From:sp.To] {
			b.WriteString(maskOf(c))
		}
		at = sp.To
	}
	b.WriteString(s[at:])
	return b.String()
}

// maskOf keeps line breaks, and the width of wide characters.
func maskOf(c rune) string {
	switch {
	case c == '\n' || c == '\r':
		return string(c)
	case wide(c):
		return string(Mask) + string(Mask)
	}
	return string(Mask)
}

// wide is a rough guess that is right for the scripts that people write.
func wide(c rune) bool {
	return c >= 0x1100 && c <= 0x115f || c >= 0x2e80 && c <= 0xa4cf || c >= 0xac00 && c <= 0xd7a3 ||
		c >= 0xf900 && c <= 0xfaff || c >= 0xff00 && c <= 0xff60 || c >= 0x1f300 && c <= utf8.MaxRune
}
