package web

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/ui/dashboard"
)

// paint is a screen, or what changed of it, as the page draws it.
type paint struct {
	Full    bool           `json:"full,omitempty"`
	Cols    int            `json:"cols"`
	Rows    int            `json:"rows"`
	Seq     uint64         `json:"seq"`
	Elapsed int64          `json:"t"` // nanoseconds since the session's start
	Exit    string         `json:"exit,omitempty"`
	Missing []string       `json:"missing,omitempty"`
	Cursor  screen.Cursor  `json:"cursor"`
	Title   string         `json:"title,omitempty"`
	Alt     bool           `json:"alt,omitempty"`   // the program draws its screen
	Mouse   string         `json:"mouse,omitempty"` // as in screen.Snapshot
	FG      string         `json:"fg,omitempty"`    // set by the program, or ""
	BG      string         `json:"bg,omitempty"`
	Palette map[int]string `json:"pal,omitempty"` // what the program has changed
	Styles  []screen.Style `json:"styles"`
	Lines   []paintLine    `json:"lines"`
	Images  []screen.Image `json:"images,omitempty"` // that the page does not have
}

type paintLine struct {
	Row  int        `json:"y"`
	Runs []paintRun `json:"r"`
	Size string     `json:"z,omitempty"` // as in screen.Line
	// Tiles are the parts of images in the row.
	Tiles []screen.Tile `json:"i,omitempty"`
}

// paintRun is neighbouring cells of one style: each code point of Text fills
// one cell, or, if Whole, all of it is one character over Width cells.
type paintRun struct {
	Col   int    `json:"x"`
	Width int    `json:"w"`
	Style int    `json:"s"`
	Text  string `json:"c"`
	Whole bool   `json:"o,omitempty"`
}

// newPaint returns the changes between from and to, or all of to if from is
// nil.
func newPaint(from, to *dashboard.Frame) *paint {
	s := to.Screen
	rows, full := dashboard.Changed(from, to)
	p := &paint{
		Full: full, Cols: s.Cols, Rows: s.Rows, Seq: to.Seq, Elapsed: int64(to.Elapsed), Exit: to.Exit, Missing: to.Missing,
		Cursor: s.Cursor, Title: s.Title, Alt: s.AltScreen, Mouse: s.Mouse, Styles: []screen.Style{}, Lines: make([]paintLine, 0, len(rows)),
	}
	p.takeColors(s)
	p.takeImages(from, to)
	b := painter{numbers: map[screen.Style]int{}, paint: p}
	for _, row := range rows {
		from := s.Lines[row]
		line := paintLine{Row: row, Runs: []paintRun{}, Size: from.Size, Tiles: from.Images}
		for _, run := range from.Runs {
			line.Runs = b.appendRun(line.Runs, run)
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// stock is an unused terminal. Colours that differ from its own were set by a
// program, and are not subject to the page's theme.
var stock = sync.OnceValue(func() *screen.Snapshot {
	t := vt.New(vt.Config{Cols: 256, Rows: 1})
	t.Write([]byte("\x1b[?7l")) // A terminal takes every byte.
	for i := range 256 {
		t.Write(fmt.Appendf(nil, "\x1b[38;5;%dmx", i))
	}
	s := screen.Capture(t, 0)
	return &s
})

// takeImages adds the images of to that the page, which shows from, lacks.
func (p *paint) takeImages(from, to *dashboard.Frame) {
	for _, img := range to.Screen.Images {
		has := !p.Full && slices.ContainsFunc(from.Screen.Images, func(i screen.Image) bool { return i.ID == img.ID })
		if !has {
			p.Images = append(p.Images, img)
		}
	}
}

func (p *paint) takeColors(d *screen.Snapshot) {
	if d.Foreground != stock().Foreground {
		p.FG = d.Foreground
	}
	if d.Background != stock().Background {
		p.BG = d.Background
	}
	for i, c := range d.Palette {
		if c != stock().Palette[i] {
			if p.Palette == nil {
				p.Palette = map[int]string{}
			}
			p.Palette[i] = c
		}
	}
}

// painter converts runs into the page's format.
type painter struct {
	paint   *paint
	numbers map[screen.Style]int
	scratch *vt.Terminal // or nil: no run needed it yet
}

func (b *painter) style(s screen.Style) int {
	n, ok := b.numbers[s]
	if !ok {
		n = len(b.paint.Styles)
		b.numbers[s] = n
		b.paint.Styles = append(b.paint.Styles, s)
	}
	return n
}

func (b *painter) appendRun(runs []paintRun, r screen.Run) []paintRun {
	n := b.style(r.Style)
	if dashboard.IsASCII(r.Text) {
		return append(runs, paintRun{Col: r.Col, Width: r.Width, Style: n, Text: r.Text})
	}
	return b.appendCells(runs, r, n)
}

// appendCells uses the emulator to split the text into characters and widths:
// a browser's idea of them may differ.
func (b *painter) appendCells(runs []paintRun, r screen.Run, style int) []paintRun {
	if b.scratch == nil {
		b.scratch = vt.New(vt.Config{Cols: max(b.paint.Cols, 2), Rows: 1})
		b.scratch.Write([]byte("\x1b[?7l")) // a last character must not wrap
	}
	b.scratch.Write(fmt.Appendf(nil, "\x1b[H\x1b[2K\x1b[%dG%s%s", r.Col+1, screen.ClusterMode(r.Clusters()), r.Text))
	row := b.scratch.Row(0)
	open := -1 // the run that takes single code points
	for col := r.Col; col < min(r.Col+r.Width, row.Len()); col++ {
		c := row.Cell(col)
		if c.Width == 0 {
			continue
		}
		c.Text = cmp.Or(c.Text, " ")
		if c.Width > 1 || utf8.RuneCountInString(c.Text) > 1 {
			runs, open = append(runs, paintRun{Col: col, Width: c.Width, Style: style, Text: c.Text, Whole: true}), -1
			continue
		}
		if open < 0 {
			runs, open = append(runs, paintRun{Col: col, Style: style}), len(runs)
		}
		runs[open].Text += c.Text
		runs[open].Width++
	}
	return runs
}
