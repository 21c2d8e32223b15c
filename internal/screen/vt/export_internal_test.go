package vt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Check looks for states that no input may lead to.
func (t *Terminal) Check() error {
	if t.cur.x < 0 || t.cur.x >= t.cols || t.cur.y < 0 || t.cur.y >= t.rows {
		return fmt.Errorf("cursor at %d,%d outside %dx%d", t.cur.x, t.cur.y, t.cols, t.rows)
	}
	m := t.margins
	if m.top < 0 || m.top > m.bottom || m.bottom >= t.rows || m.left < 0 || m.left > m.right || m.right >= t.cols {
		return fmt.Errorf("margins %+v", m)
	}
	if t.deep != nil && (t.deep.rows.len() == 0 || len(t.deep.steps) == 0) {
		return fmt.Errorf("nothing is to be wrapped: %d rows, %d steps", t.deep.rows.len(), len(t.deep.steps))
	}
	t.wrapDeep()
	if t.hist.len() > t.hist.max || t.anchor.up > t.hist.len() {
		return fmt.Errorf("scrollback %d of %d, anchor %+v", t.hist.len(), t.hist.max, t.anchor)
	}
	for i := range t.hist.len() {
		if err := t.checkLine(t.histLine(i), false); err != nil {
			return fmt.Errorf("row %d: %w", i-t.hist.len(), err)
		}
	}
	for _, b := range []*buffer{&t.main, &t.alt} {
		if b.rows != nil && len(b.rows) != t.rows {
			return fmt.Errorf("%d rows of %d", len(b.rows), t.rows)
		}
		for y, l := range b.rows {
			last := y == t.rows-1 && (b == &t.alt || t.below == nil)
			if err := t.checkLine(l, last); err != nil {
				return fmt.Errorf("row %d: %w", y, err)
			}
		}
	}
	for i, l := range t.below {
		if err := t.checkLine(l, i == len(t.below)-1); err != nil {
			return fmt.Errorf("row %d below: %w", i, err)
		}
	}
	if n := len(t.styles.list); n > maxStyles {
		return fmt.Errorf("%d styles", n)
	}
	if n := len(t.clusters.list); n > maxClusters {
		return fmt.Errorf("%d clusters", n)
	}
	if err := t.images.check(); err != nil {
		return err
	}
	if n := len(t.outbox.replies); n > maxReplies {
		return fmt.Errorf("%d bytes of replies", n)
	}
	return nil
}

func (t *Terminal) checkLine(l *line, last bool) error {
	if l.cols() != t.cols {
		return fmt.Errorf("%d columns of %d", l.cols(), t.cols)
	}
	if l.wrapped && last {
		return fmt.Errorf("the last row wraps")
	}
	if l.size != SingleSize && l.wrapped {
		return fmt.Errorf("a double row wraps")
	}
	if l.typed.on {
		untyped := *l
		untyped.grid = slices.Clone(l.cells())
		untyped.untype()
		if got, want := l.appendPacked(nil), untyped.appendPacked(nil); !bytes.Equal(got, want) {
			return fmt.Errorf("typed %q, but %q stands there", got, want)
		}
	}
	for x, c := range l.cells() {
		if x >= l.room() && c != 0 {
			return fmt.Errorf("column %d of a double row: %x", x, uint64(c))
		}
		if int(c.style()) >= len(t.styles.list) {
			return fmt.Errorf("column %d: style %d of %d", x, c.style(), len(t.styles.list))
		}
		if c.tile() {
			if n := t.styles.list[c.style()].image(); n != 0 && (t.images == nil || int(n) >= len(t.images.placed) || t.images.placed[n] == nil) {
				return fmt.Errorf("column %d: image %d", x, n)
			}
		} else if c&cellCluster != 0 && t.clusters.list[c.content()&^cellCluster].n == 0 {
			return fmt.Errorf("column %d: swept cluster", x)
		}
		if c&cellPad != 0 && (!l.wrapped || x != t.cols-1) {
			return fmt.Errorf("column %d: stray pad", x)
		}
		if c.blank() {
			if s := t.styles.list[c.style()]; s != (style{bg: s.bg}) || c&(cellWide|cellProtected) != 0 {
				return fmt.Errorf("column %d: blank %x with style %+v", x, uint64(c), s)
			}
		}
		lead := x > 0 && l.cells()[x-1]&cellWide != 0
		if same := ^(contentMask | cellWide | cellSpacer); lead && (c^l.cells()[x-1])&same != 0 {
			return fmt.Errorf("column %d: halves of a wide character differ", x)
		}
		if c&cellSpacer != 0 != lead {
			return fmt.Errorf("column %d: half of a wide character", x)
		}
		if c&cellWide != 0 && x == t.cols-1 && t.cols > 1 {
			return fmt.Errorf("column %d: wide character cut by the edge", x)
		}
	}
	return nil
}

// SlowDown makes the terminal forget what it keeps to be fast.
func (t *Terminal) SlowDown() {
	t.styles.steps = sgrSteps{}
	t.cur.pen.match = penStale
	for _, rows := range [][]*line{t.main.rows, t.alt.rows, t.hist.hot[:]} {
		for _, l := range rows {
			if l != nil {
				l.edit()
			}
		}
	}
}

// Tables returns how many styles and clusters the tables hold, free places included.
func (t *Terminal) Tables() (styles, clusters int) {
	return len(t.styles.list), len(t.clusters.list)
}

// Logical returns the main screen's text with its scrollback, wrapped rows
// joined, trailing blanks and empty lines left out.
func (t *Terminal) Logical() []string {
	t.wrapDeep()
	var lines []*line
	for i := range t.hist.len() {
		lines = append(lines, t.histLine(i))
	}
	lines = append(lines, t.main.rows...)
	lines = append(lines, t.below...)
	var out []string
	keep := 0
	for i := 0; i < len(lines); {
		end := logicalEnd(lines, i)
		var b []byte
		for ; i <= end; i++ {
			for _, c := range unpadded(lines, i) {
				switch {
				case c&cellSpacer != 0:
				case c.blank():
					b = append(b, ' ')
				default:
					b = t.appendContent(b, c)
				}
			}
		}
		s := strings.TrimRight(string(b), " ")
		if out = append(out, s); s != "" {
			keep = len(out)
		}
	}
	return out[:keep]
}

func (m *images) check() error {
	if m == nil {
		return nil
	}
	n := 0
	for _, p := range m.pictures {
		n += len(p.png)
	}
	if n != m.bytes || n > maxImageBytes || len(m.placed) > maxPlaced+1 {
		return fmt.Errorf("%d bytes of pictures, counted as %d; %d placed", n, m.bytes, len(m.placed))
	}
	return nil
}

// ImageBytes is how much of images the terminal keeps.
func (t *Terminal) ImageBytes() int {
	if t.images == nil {
		return 0
	}
	return t.images.bytes
}
