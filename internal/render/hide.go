package render

import (
	"slices"

	"den/internal/render/redact"
	"den/internal/vt"
)

// Redact covers what r hides, before anything is drawn: cell by cell with a
// bar, in rows that the terminal wrapped as if they were one line. A row that
// is full may have been wrapped by the program itself, so it is also read
// together with the next.
func (g *Grid) Redact(r *redact.Redactor) {
	if r == nil {
		return
	}
	var hidden []int
	for _, joinFull := range []bool{false, true} {
		text, cells := g.text(joinFull)
		for _, sp := range r.Spans(text) {
			for i := sp.From; i < sp.To; i++ {
				if cells[i] >= 0 {
					hidden = append(hidden, cells[i])
				}
			}
		}
	}
	for _, i := range hidden {
		g.cover(i)
		if g.Cells[i].Width == 2 && i+1 < len(g.Cells) {
			g.cover(i + 1)
		}
	}
	for i := range g.Cells {
		if c := &g.Cells[i]; c.Link != "" && r.Text(c.Link) != c.Link {
			c.Link = ""
		}
	}
	g.Title = r.Text(g.Title)
}

// cover puts a bar over a cell.
func (g *Grid) cover(i int) {
	c := &g.Cells[i]
	c.Rune, c.Cluster, c.Width = '█', "", 1
	c.FG = mix(c.FG, c.BG, dimLevel)
	if c.FG == c.BG {
		c.FG = mix(g.Foreground, c.BG, dimLevel)
	}
	c.Underline, c.Strike, c.Over, c.Bold, c.Italic = vt.UnderlineNone, false, false, false, false
}

// text returns the screen's text, and for each byte the cell that it is from,
// -1 for line breaks.
func (g *Grid) text(joinFull bool) (text []byte, cells []int) {
	text = append(text, g.above...)
	cells = slices.Repeat([]int{-1}, len(text))
	for y := range g.Rows {
		row := g.Row(y)
		n := len(row)
		for n > 0 && row[n-1].blank() && row[n-1].Width > 0 {
			n--
		}
		goesOn := g.Wrapped[y] || joinFull && n == len(row)
		if g.Wrapped[y] {
			n = len(row)
		}
		for x := range n {
			if row[x].Width == 0 {
				continue
			}
			was := len(text)
			if row[x].Rune == 0 {
				text = append(text, ' ')
			} else {
				text = append(text, row[x].Text()...)
			}
			for range len(text) - was {
				cells = append(cells, y*g.Cols+x)
			}
		}
		if !goesOn {
			text, cells = append(text, '\n'), append(cells, -1)
		}
	}
	return text, cells
}
