package screen

import (
	"fmt"
	"unicode/utf8"

	"den/internal/screen/vt"
)

// Painter shows an emulator's screen on another terminal. It remembers what
// it painted and sends only what changed; a screen larger than the terminal
// is clipped, with the cursor kept in view.
type Painter struct {
	cols, rows int // of the other terminal
	shown      []vt.Cell
	valid      bool
	modes      vt.Modes
	title      string
	top, left  int // of the part in view
}

// NewPainter paints on a terminal of this size.
func NewPainter(cols, rows int) *Painter {
	p := &Painter{}
	p.Resize(cols, rows)
	return p
}

// Resize follows a change of the other terminal's size.
func (p *Painter) Resize(cols, rows int) {
	p.cols, p.rows = cols, rows
	p.shown = make([]vt.Cell, cols*rows)
	p.valid = false
}

// Enter prepares the other terminal: an alternate screen of our own.
func (p *Painter) Enter(dst []byte) []byte {
	return append(dst, "\x1b[?1049h\x1b[22;0t\x1b[0m\x1b[H\x1b[2J"...)
}

// Leave puts the other terminal back as it was, whatever was painted and
// whatever modes the program had asked for.
func (p *Painter) Leave(dst []byte) []byte {
	dst = p.appendModes(dst, vt.Modes{})
	return append(dst, "\x1b[?2026l\x1b[0m\x1b[0 q\x1b[?25h\x1b[23;0t\x1b[?1049l"...)
}

// Paint appends what turns the other terminal's screen into t's.
func (p *Painter) Paint(dst []byte, t *vt.Terminal) []byte {
	dst = append(dst, "\x1b[?2026h\x1b[?25l"...)
	p.scrollTo(t)
	if !p.valid {
		dst = append(dst, "\x1b[0m\x1b[2J"...)
		clear(p.shown)
		for i := range p.shown {
			p.shown[i].Width = 1
		}
		p.valid = true
	}
	cols, rows := t.Size()
	for y := range p.rows {
		if y+p.top < rows {
			dst = p.paintRow(dst, y, t.Row(y+p.top), min(p.cols, cols-p.left))
		} else {
			dst = p.paintBlank(dst, y)
		}
	}
	dst = p.appendModes(dst, t.Modes())
	if title := t.Title(); title != p.title {
		p.title = title
		dst = fmt.Appendf(dst, "\x1b]2;%s\x1b\\", title)
	}
	return append(p.placeCursor(dst, t.Cursor()), "\x1b[?2026l"...)
}

// scrollTo moves the part in view so that the cursor is in it.
func (p *Painter) scrollTo(t *vt.Terminal) {
	cur := t.Cursor()
	cols, rows := t.Size()
	p.top = follow(p.top, cur.Row, p.rows, rows)
	p.left = follow(p.left, cur.Col, p.cols, cols)
}

func follow(at, cursor, view, size int) int {
	switch {
	case cursor < view:
		at = 0 // the beginning is what people expect to see
	case cursor < at:
		at = cursor
	case cursor >= at+view:
		at = cursor - view + 1
	}
	return max(0, min(at, size-view))
}

// paintRow sends the cells of one row that differ from what is shown.
func (p *Painter) paintRow(dst []byte, y int, row vt.Row, n int) []byte {
	shown := p.shown[y*p.cols : (y+1)*p.cols]
	at := -1 // the column that the other cursor is in, or -1
	var style vt.Style
	styled := false
	for x := range p.cols {
		cell := vt.Cell{Width: 1}
		if x < n {
			cell = row.Cell(p.left + x)
		}
		if cell.Width == 2 && x+1 >= p.cols || cell.Width == 0 && x == 0 {
			cell = vt.Cell{Width: 1, Style: cell.Style} // half a character at the edge
		}
		if cell == shown[x] {
			continue
		}
		shown[x] = cell
		if cell.Width == 0 {
			continue // drawn with its first half
		}
		if at != x {
			dst = fmt.Appendf(dst, "\x1b[%d;%dH", y+1, x+1)
		}
		if !styled || cell.Style != style {
			dst = p.appendStyle(dst, style, cell.Style)
			style, styled = cell.Style, true
		}
		if cell.Text == "" {
			dst = append(dst, ' ')
		} else {
			dst = append(dst, cell.Text...)
		}
		if at = x + cell.Width; len(cell.Text) > utf8.UTFMax-1 {
			at = -1 // an emoji, or several runes: terminals disagree how wide it is
		}
	}
	if styled && SafeLink(style.Link) {
		dst = append(dst, "\x1b]8;;\x1b\\"...)
	}
	return dst
}

func (p *Painter) appendStyle(dst []byte, from, to vt.Style) []byte {
	if from.Link != to.Link || from.LinkID != to.LinkID {
		switch {
		case !SafeLink(to.Link):
			dst = append(dst, "\x1b]8;;\x1b\\"...)
		case to.LinkID != "":
			dst = fmt.Appendf(dst, "\x1b]8;id=%s;%s\x1b\\", to.LinkID, to.Link)
		default:
			dst = fmt.Appendf(dst, "\x1b]8;;%s\x1b\\", to.Link)
		}
	}
	return AppendSGR(dst, to)
}

// paintBlank clears a row below the screen.
func (p *Painter) paintBlank(dst []byte, y int) []byte {
	shown := p.shown[y*p.cols : (y+1)*p.cols]
	blank := vt.Cell{Width: 1}
	for x := range shown {
		if shown[x] != blank {
			dst = fmt.Appendf(dst, "\x1b[0m\x1b[%d;1H\x1b[2K", y+1)
			for i := range shown {
				shown[i] = blank
			}
			break
		}
	}
	return dst
}

func (p *Painter) placeCursor(dst []byte, c vt.Cursor) []byte {
	shape := map[vt.CursorShape]int{vt.CursorBlock: 2, vt.CursorUnderline: 4, vt.CursorBar: 6}[c.Shape]
	if c.Blink {
		shape--
	}
	dst = fmt.Appendf(dst, "\x1b[0m\x1b[%d;%dH\x1b[%d q", c.Row-p.top+1, c.Col-p.left+1, shape)
	if c.Visible {
		dst = append(dst, "\x1b[?25h"...)
	}
	return dst
}

var (
	mouseModes     = [...]string{vt.MouseX10: "9", vt.MouseNormal: "1000", vt.MouseButton: "1002", vt.MouseAny: "1003"}
	mouseEncodings = [...]string{vt.MouseUTF8: "1005", vt.MouseSGR: "1006", vt.MouseURxvt: "1015", vt.MouseSGRPixels: "1016"}
)

// appendModes passes on the modes that decide what the other terminal sends:
// keys, pastes, mouse and focus.
func (p *Painter) appendModes(dst []byte, m vt.Modes) []byte {
	was := p.modes
	set := func(was, now bool, mode string) {
		if was != now {
			dst = append(dst, "\x1b[?"+mode...)
			if now {
				dst = append(dst, 'h')
			} else {
				dst = append(dst, 'l')
			}
		}
	}
	set(was.AppCursor, m.AppCursor, "1")
	set(was.BracketedPaste, m.BracketedPaste, "2004")
	set(was.Focus, m.Focus, "1004")
	set(was.ReverseVideo, m.ReverseVideo, "5")
	// Off before on: a terminal has one mouse mode, and any "off" clears it.
	set(was.Mouse != vt.MouseNone && was.Mouse != m.Mouse, false, mouseModes[was.Mouse])
	set(false, was.Mouse != m.Mouse && m.Mouse != vt.MouseNone, mouseModes[m.Mouse])
	set(was.MouseEncoding != vt.MouseDefault && was.MouseEncoding != m.MouseEncoding, false, mouseEncodings[was.MouseEncoding])
	set(false, was.MouseEncoding != m.MouseEncoding && m.MouseEncoding != vt.MouseDefault, mouseEncodings[m.MouseEncoding])
	if was.AppKeypad != m.AppKeypad {
		dst = append(dst, map[bool]string{true: "\x1b=", false: "\x1b>"}[m.AppKeypad]...)
	}
	if was.ModifyOtherKeys != m.ModifyOtherKeys {
		dst = fmt.Appendf(dst, "\x1b[>4;%dm", m.ModifyOtherKeys)
	}
	switch {
	case was.KittyFlags == m.KittyFlags:
	case was.KittyFlags == 0:
		dst = fmt.Appendf(dst, "\x1b[>%du", m.KittyFlags)
	case m.KittyFlags == 0:
		dst = append(dst, "\x1b[<u"...)
	default:
		dst = fmt.Appendf(dst, "\x1b[=%d;1u", m.KittyFlags)
	}
	p.modes = m
	return dst
}
