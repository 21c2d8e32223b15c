package screen

import (
	"den/internal/screen/vt"
	"fmt"
)

// Snapshot is what a terminal showed at one moment, free of the emulator.
type Snapshot struct {
	Plain
	// Lines are the visible rows; Scrollback the asked rows above, oldest first.
	Lines      []Line `json:"lines"`
	Scrollback []Line `json:"scrollback,omitempty"`
	// Foreground and Background are the default colours, "#rrggbb".
	Foreground string `json:"foreground"`
	Background string `json:"background"`
	// ReverseVideo says that the program has swapped the two for the whole
	// screen (DECSCNM), and CursorColor what it made of the cursor, if it did.
	ReverseVideo bool   `json:"reverse_video,omitempty"`
	CursorColor  string `json:"cursor_color,omitempty"`
	// Palette holds the numbered colours that the runs use.
	Palette map[int]string `json:"palette,omitempty"`
	// Images are those that the lines show parts of.
	Images []Image `json:"images,omitempty"`
}

// Plain is a screen as text, without styles and images.
type Plain struct {
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
	Cursor    Cursor `json:"cursor"`
	Title     string `json:"title"`
	AltScreen bool   `json:"alt_screen"`
	// Mouse is what the program takes of a mouse: "buttons" and all else, only
	// the "wheel" (as cursor keys), or nothing.
	Mouse           string `json:"mouse,omitempty"`
	Cwd             string `json:"cwd,omitempty"` // as the program last told it (OSC 7)
	ScrollbackTotal int    `json:"scrollback_total"`
	// Text is the canonical text and Hash its digest.
	Text string `json:"text"`
	Hash string `json:"screen_hash"`
}

// Cursor is where the next character goes, from 0.
type Cursor struct {
	Row     int    `json:"row"`
	Col     int    `json:"col"`
	Visible bool   `json:"visible"`
	Shape   string `json:"shape"`
	Blink   bool   `json:"blink"`
}

// Line is one row.
type Line struct {
	Runs    []Run `json:"runs,omitempty"`
	Wrapped bool  `json:"wrapped,omitempty"` // goes on in the next row
	// Size is that of the characters: "" (single), "double-width", and
	// "double-top" and "double-bottom" for the halves of a row of double height.
	Size   string `json:"size,omitempty"`
	Images []Tile `json:"images,omitempty"` // blanks in the runs
}

// lineSizes are the names of the emulator's sizes.
var lineSizes = [...]string{vt.SingleSize: "", vt.DoubleWidth: "double-width", vt.DoubleTop: "double-top", vt.DoubleBottom: "double-bottom"}

// SizeMode is the sequence that gives the cursor's row the size of the line, ""
// for a single one.
func (l *Line) SizeMode() string {
	return map[string]string{"double-width": "\x1b#6", "double-top": "\x1b#3", "double-bottom": "\x1b#4"}[l.Size]
}

// Run is neighbouring cells of one style.
type Run struct {
	Col   int    `json:"col"`
	Width int    `json:"width"` // in cells
	Text  string `json:"text"`
	Style
}

// Clusters reports whether the line was printed under mode 2027, in which
// characters of several runes share a cell. The widths of its runs tell.
func (l *Line) Clusters() bool {
	for i := range l.Runs {
		if !l.Runs[i].Clusters() {
			return false
		}
	}
	return true
}

// Clusters is [Line.Clusters] for one run.
func (r *Run) Clusters() bool { return vt.TextWidth(r.Text, true) == r.Width }

// ClusterMode is the sequence that switches mode 2027 on or off.
func ClusterMode(on bool) string {
	if on {
		return "\x1b[?2027h"
	}
	return "\x1b[?2027l"
}

// Style is how a run looks. Colours are "" (default), "0" to "255", or "#rrggbb".
type Style struct {
	FG             string `json:"fg,omitempty"`
	BG             string `json:"bg,omitempty"`
	Bold           bool   `json:"bold,omitempty"`
	Dim            bool   `json:"dim,omitempty"`
	Italic         bool   `json:"italic,omitempty"`
	Underline      string `json:"underline,omitempty"` // single double curly dotted dashed
	UnderlineColor string `json:"underline_color,omitempty"`
	Blink          bool   `json:"blink,omitempty"`
	Inverse        bool   `json:"inverse,omitempty"`
	Hidden         bool   `json:"hidden,omitempty"`
	Strike         bool   `json:"strike,omitempty"`
	Overline       bool   `json:"overline,omitempty"`
	Link           string `json:"link,omitempty"`
}

// Capture takes a snapshot with the given number of scrollback lines; a
// negative number means all.
func Capture(t *vt.Terminal, scrollback int) Snapshot {
	fg, bg := t.DefaultColors()
	s := Snapshot{
		Plain:      CapturePlain(t),
		Foreground: hexColor(fg), Background: hexColor(bg),
		ReverseVideo: t.Modes().ReverseVideo,
	}
	if scrollback < 0 || scrollback > s.ScrollbackTotal {
		scrollback = s.ScrollbackTotal
	}
	if c := t.CursorColor(); c != fg {
		s.CursorColor = hexColor(c)
	}
	styles := map[uint32]Style{}
	s.Scrollback = s.lines(t, -scrollback, 0, styles)
	s.Lines = s.lines(t, 0, s.Rows, styles)
	s.Palette = paletteOf(t, styles)
	return s
}

// CapturePlain takes the text of the screen, and what is told with it.
func CapturePlain(t *vt.Terminal) Plain {
	cols, rows := t.Size()
	cur := t.Cursor()
	text := Text(t)
	return Plain{
		Cols: cols, Rows: rows,
		Cursor:    Cursor{Row: cur.Row, Col: cur.Col, Visible: cur.Visible, Shape: cur.Shape.String(), Blink: cur.Blink},
		Title:     t.Title(),
		AltScreen: t.Modes().AltScreen, Mouse: mouse(t.Modes()),
		Cwd:             t.WorkingDir(),
		ScrollbackTotal: t.ScrollbackLen(),
		Text:            text, Hash: Hash(text),
	}
}

func mouse(m vt.Modes) string {
	switch {
	case m.Mouse != vt.MouseNone:
		return "buttons"
	case m.AltScreen && m.AltScroll:
		return "wheel"
	}
	return ""
}

// lines takes rows, and the images that they show.
func (s *Snapshot) lines(t *vt.Terminal, from, to int, styles map[uint32]Style) []Line {
	if from == to {
		return nil
	}
	out := make([]Line, 0, to-from)
	for i := from; i < to; i++ {
		row := t.Row(i)
		out = append(out, Line{Runs: runs(t, row, styles), Wrapped: row.Wrapped(), Size: lineSizes[row.Size()], Images: s.tiles(row)})
	}
	return out
}

// runs groups a row's cells by style; trailing blank cells of the default
// style are left out.
func runs(t *vt.Terminal, row vt.Row, styles map[uint32]Style) []Run {
	var out []Run
	var text []byte
	open, id := false, uint32(0)
	flush := func() {
		if open {
			out[len(out)-1].Text = string(text)
			text = text[:0]
		}
	}
	for col := range visibleLen(row) {
		cell := row.Cell(col)
		if cell.Width == 0 && open {
			out[len(out)-1].Width++ // the second half of a wide character
			continue
		}
		if cid := row.StyleID(col); !open || cid != id {
			flush()
			open, id = true, cid
			style, ok := styles[cid]
			if !ok {
				style = styleOf(t.StyleOf(cid))
				styles[cid] = style
			}
			out = append(out, Run{Col: col, Style: style})
		}
		out[len(out)-1].Width++
		if cell.Text == "" {
			text = append(text, ' ')
		} else {
			text = append(text, cell.Text...)
		}
	}
	flush()
	return out
}

func visibleLen(row vt.Row) int {
	n := row.Len()
	for n > 0 && row.StyleID(n-1) == 0 && blank(row.Cell(n-1)) {
		n--
	}
	return n
}

func blank(c vt.Cell) bool { return c.Width == 1 && (c.Text == "" || c.Text == " ") }

// Image is a picture on the screen: the part Source of its pixels, drawn into
// Box.
type Image struct {
	ID     string `json:"id"`
	Width  int    `json:"width"` // of the PNG, in pixels
	Height int    `json:"height"`
	Source [4]int `json:"source"` // x, y, width and height, in its pixels
	// Box is x, y, width and height from the corner of the first cell, in pixels
	// of which a cell has CellWidth by CellHeight.
	Box  [4]int `json:"box"`
	Cols int    `json:"cols"` // the cells that it takes
	Rows int    `json:"rows"`
	PNG  []byte `json:"png,omitempty"`
}

// Tile is cells of a row that show a part of an image: Width of them, from Col
// on. X and Y are the image's column and row in the first.
type Tile struct {
	Image string `json:"image"` // its id
	Col   int    `json:"col"`
	Width int    `json:"width"`
	X     int    `json:"x"`
	Y     int    `json:"y"`
}

// tiles returns what of images is in a row, and adds the images.
func (s *Snapshot) tiles(row vt.Row) []Tile {
	var out []Tile
	for _, t := range row.Tiles() {
		out = append(out, Tile{Image: s.addImage(t.Image), Col: t.Col, Width: t.Width, X: t.X, Y: t.Y})
	}
	return out
}

func (s *Snapshot) addImage(img *vt.Image) (id string) {
	id = fmt.Sprintf("%016x", img.ID)
	for i := range s.Images {
		if s.Images[i].ID == id {
			return id
		}
	}
	s.Images = append(s.Images, Image{
		ID: id, Width: img.Width, Height: img.Height, PNG: img.PNG, Cols: img.Cols, Rows: img.Rows,
		Source: [4]int{img.Source.X, img.Source.Y, img.Source.W, img.Source.H},
		Box:    [4]int{img.Box.X, img.Box.Y, img.Box.W, img.Box.H},
	})
	return id
}

// WithoutPictures returns a copy that says where images are and how large, but
// does not hold them: they are long, and no text.
func (s Snapshot) WithoutPictures() Snapshot {
	images := s.Images
	s.Images = nil
	for _, img := range images {
		img.PNG = nil
		s.Images = append(s.Images, img)
	}
	return s
}
