package redact

import (
	"bytes"
	"den/internal/base/lazy"
	"den/internal/screen/vt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Context is how many rows above a screen are searched with it, so that a
// secret is recognised by a part that has scrolled off. A private key fits.
const Context = 64

// Page is rows of a terminal that are searched as one text. Its memory is used
// again for the next page.
type Page struct {
	first, cols int
	text        page
	joined      page // without the breaks behind full rows
	full        []int
	hidden      []bool // by cell
	any         bool
}

// page is a text with the cell that each byte stands in, -1 for none.
type page struct {
	text []byte
	cell []int32
}

func (p *page) reset() { p.text, p.cell = p.text[:0], p.cell[:0] }

func (p *page) put(c byte, cell int32) {
	p.text, p.cell = append(p.text, c), append(p.cell, cell)
}

// Take reads the screen of t, n rows above it, and the context above those.
func (p *Page) Take(t *vt.Terminal, n int) {
	cols, rows := t.Size()
	alt := t.Modes().AltScreen
	p.first, p.cols, p.any = 0, cols, false
	if !alt || n > 0 {
		p.first = -min(n+Context, t.ScrollbackLen())
	}
	p.text.reset()
	p.full = p.full[:0]
	for i := p.first; i < rows; i++ {
		// Rows above an alternate screen are of another text.
		p.takeRow(t.Row(i), int32(i-p.first)*int32(cols), alt && i == -1)
	}
	p.join()
}

func (p *Page) takeRow(row vt.Row, cell int32, last bool) {
	wrapped := row.Wrapped() && !last
	n := row.TextLen()
	if wrapped {
		n = row.Len()
	}
	for x := range n {
		was := len(p.text.text)
		p.text.text = row.AppendCell(p.text.text, x)
		if len(p.text.text) == was && row.Width(x) > 0 && x < row.Len()-1 { // else a wide character did not fit
			p.text.text = append(p.text.text, ' ')
		}
		for range len(p.text.text) - was {
			p.text.cell = append(p.text.cell, cell+int32(x))
		}
	}
	if wrapped {
		return
	}
	if n == row.Len() && !last {
		p.full = append(p.full, len(p.text.text))
	}
	p.text.put('\n', -1)
}

// join makes the text without the breaks behind full rows: a program that
// wraps its text itself fills the rows.
func (p *Page) join() {
	p.joined.reset()
	if len(p.full) == 0 {
		return
	}
	at := 0
	for _, nl := range p.full {
		p.joined.text = append(p.joined.text, p.text.text[at:nl]...)
		p.joined.cell = append(p.joined.cell, p.text.cell[at:nl]...)
		at = nl + 1
	}
	p.joined.text = append(p.joined.text, p.text.text[at:]...)
	p.joined.cell = append(p.joined.cell, p.text.cell[at:]...)
}

// Collect adds the secrets of the page to s.
func (p *Page) Collect(r *Redactor, s *Secrets) {
	r.Collect(p.text.text, s)
	r.Collect(p.joined.text, s)
}

// Hide finds what r hides. [Page.Hidden] tells it row by row.
func (p *Page) Hide(r *Redactor) {
	for _, t := range []*page{&p.text, &p.joined} {
		for _, sp := range r.Spans(t.text) {
			p.hide(t.cell[sp.From:sp.To])
		}
	}
}

func (p *Page) hide(cells []int32) {
	if !p.any {
		p.any = true
		n := int(p.text.lastCell()+int32(p.cols)) / p.cols * p.cols
		p.hidden = append(p.hidden[:0], make([]bool, n)...)
	}
	for _, c := range cells {
		if c >= 0 {
			p.hidden[c] = true
		}
	}
}

// lastCell is the highest cell that has text.
func (p *page) lastCell() int32 {
	for i := len(p.cell) - 1; i >= 0; i-- {
		if p.cell[i] >= 0 {
			return p.cell[i]
		}
	}
	return 0
}

// Hidden returns which columns of a row to hide, or nil for none. Rows count
// as for [vt.Terminal.Row].
func (p *Page) Hidden(row int) []bool {
	from := (row - p.first) * p.cols
	if !p.any || from < 0 || from+p.cols > len(p.hidden) {
		return nil
	}
	return p.hidden[from : from+p.cols]
}

// A program may break a token into lines, at the width of a window or of a box
// that it draws. The first part is known by its form. What follows is taken for
// the rest if it is the first word of the next line, long or of letters and
// digits, and the token is not complete.
var nextLine = lazy.Regexp{Expr: `^[ \t|\\\x{2500}-\x{257f}]*\r?\n[ \t|>\x{2500}-\x{257f}]*([A-Za-z0-9_+.~-][A-Za-z0-9_+/.~-]*={0,2})(?:["'` + "`" + `,;)\]}\s|\\\x{2500}-\x{257f}]|$)`}

// Bounds of a rest.
const (
	minRest  = 4 // of letters and digits
	longRest = 8
	maxLines = 64
)

// rest returns the parts of a secret in the lines below its first part, which
// has had n bytes and ends at end. A secret of a known length is full bytes
// long; 0 means that it may have any length.
func rest(text []byte, end, n, full int) []Span {
	var parts []Span
	for range maxLines {
		if full > 0 && n >= full {
			break
		}
		m := nextLine.Get().FindSubmatchIndex(text[end:])
		if m == nil {
			break
		}
		part := Span{end + m[2], end + m[3]}
		word := text[part.From:part.To]
		completes := full > 0 && n+len(word) == full
		if full > 0 && n+len(word) > full || !completes && len(word) < longRest && !(len(word) >= minRest && mixed(word)) {
			break
		}
		parts = append(parts, part)
		n, end = n+len(word), part.To
	}
	return parts
}

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

// visible returns a text without the characters that nobody sees, which may
// stand between those of a secret: zero-width, soft hyphens, marks that combine,
// changes of direction, controls. at has the place of each of its bytes in the
// text, and is nil where the text has no such character.
func visible(text []byte) (clean []byte, at []int32) {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		switch hidden := invisible(r); {
		case hidden && at == nil:
			clean = append(make([]byte, 0, len(text)), text[:i]...)
			at = make([]int32, i, len(text))
			for j := range at {
				at[j] = int32(j)
			}
		case !hidden && at != nil:
			for j := range n {
				clean, at = append(clean, text[i+j]), append(at, int32(i+j))
			}
		}
		i += n
	}
	if at == nil {
		return text, nil
	}
	return clean, at
}

func invisible(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\r' && r != '\t'
	case r < 0x7f, r >= 0x2190 && r < 0x2c00, r >= 0x3400 && r < 0xa000, r >= 0xac00 && r < 0xd7a4: // all that most screens have
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// asWritten turns spans of a visible text into those of the text that it was
// made of.
func asWritten(spans []Span, at []int32) []Span {
	if at != nil {
		for i, sp := range spans {
			spans[i] = Span{int(at[sp.From]), int(at[sp.To-1]) + 1}
		}
	}
	return spans
}
