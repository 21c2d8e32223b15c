package redact

import "den/internal/screen/vt"

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
