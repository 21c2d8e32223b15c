package render

import (
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// Redact covers what r hides on the screen of t, which the grid was taken from,
// before anything is drawn: cell by cell with a bar.
func (g *Grid) Redact(t *vt.Terminal, r *redact.Redactor) {
	if r == nil {
		return
	}
	g.page.Take(t, 0)
	g.page.Hide(r)
	for y := range g.Rows {
		for x, hide := range g.page.Hidden(y) {
			if !hide {
				continue
			}
			i := y*g.Cols + x
			if wide := g.Cells[i].Width == 2 && x+1 < g.Cols; wide {
				g.cover(i + 1)
			}
			g.cover(i)
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
	c.Rune, c.Cluster, c.Width, c.Image = '█', "", 1, nil
	c.FG = mix(c.FG, c.BG, dimLevel)
	if c.FG == c.BG {
		c.FG = mix(g.Foreground, c.BG, dimLevel)
	}
	c.Underline, c.Strike, c.Over, c.Bold, c.Italic = vt.UnderlineNone, false, false, false, false
}
