package vt

// Cursor is the cursor's position and appearance; rows and columns count from
// 0.
type Cursor struct {
	Row, Col int
	Visible  bool
	Shape    CursorShape
	Blink    bool
	// PendingWrap: the last column was written and the next character goes
	// to the next row.
	PendingWrap bool
}

// CursorShape is the form of the cursor.
type CursorShape uint8

const (
	CursorBlock     CursorShape = 0
	CursorUnderline CursorShape = 1
	CursorBar       CursorShape = 2
)

func (s CursorShape) String() string {
	switch s {
	case CursorUnderline:
		return "underline"
	case CursorBar:
		return "bar"
	}
	return "block"
}

// Cursor returns the cursor's state.
func (t *Terminal) Cursor() Cursor {
	return Cursor{
		Row: t.cur.y, Col: t.cur.x,
		Visible:     t.modes.has(modeCursorVisible),
		Shape:       t.modes.cursorShape,
		Blink:       t.modes.has(modeCursorBlink),
		PendingWrap: t.cur.pending,
	}
}

// cursor is the active position with all that DECSC saves.
type cursor struct {
	x, y    int
	pending bool // wrap before the next character
	origin  bool // DECOM
	pen     pen
	charsets
}

// pen is what new characters look like.
type pen struct {
	style     style
	protected bool // DECSCA
	bits      cell // style number and flags, ready to be or'ed to content
	match     penMatch
}

// penMatch says how well the pen's bits match its style.
type penMatch uint8

const (
	penExact penMatch = iota
	penPoor           // as well as they can: the table of styles is full
	penStale          // not at all yet
)

// savedCursor is the state saved by DECSC. The zero value is the home position
// in a plain style, which is what DECRC restores without a DECSC.
type savedCursor struct {
	set bool
	cursor
}

func newCursor() cursor { return cursor{charsets: newCharsets()} }

// penBits returns the cell bits of the current style.
func (t *Terminal) penBits() cell {
	if t.cur.pen.match == penStale {
		t.freshenPen()
	}
	return t.cur.pen.bits
}

func (t *Terminal) freshenPen() {
	p := &t.cur.pen
	id := t.styleID(p.style)
	p.bits, p.match = cell(id)<<styleShift, penExact
	if t.styles.list[id] != p.style {
		p.match = penPoor
	}
	if p.protected {
		p.bits |= cellProtected
	}
}

// blank is the cell that erasing leaves: nothing, on the current background.
func (t *Terminal) blank() cell {
	bg := t.cur.pen.style.bg
	if bg == 0 {
		return 0
	}
	return cell(t.styleID(style{bg: bg})) << styleShift
}

func (t *Terminal) saveCursor() {
	t.screen.saved = savedCursor{set: true, cursor: t.cur}
	t.screen.saved.single = 0
}

func (t *Terminal) restoreCursor() {
	s := t.screen.saved
	if !s.set {
		s.cursor = newCursor()
	}
	t.cur = s.cursor
	t.cur.pen.match = penStale
	if t.cur.x >= t.cols {
		t.cur.x, t.cur.pending = t.cols-1, false
	}
	t.cur.y = min(t.cur.y, t.rows-1)
	t.updateQuick()
}

// moveTo puts the cursor at an absolute position, clamped to the screen.
func (t *Terminal) moveTo(x, y int) {
	t.cur.x = min(max(x, 0), t.cols-1)
	t.cur.y = min(max(y, 0), t.rows-1)
	t.cur.pending = false
}

// address moves to a position as programs give it, from 0: relative to the
// margins, and held inside them, under origin mode.
func (t *Terminal) address(x, y int) {
	if !t.cur.origin {
		t.moveTo(x, y)
		return
	}
	m := &t.margins
	t.moveTo(min(m.left+x, m.right), min(m.top+y, m.bottom))
}

// home is the upper left corner that CUP 1;1 means.
func (t *Terminal) home() { t.address(0, 0) }

func (t *Terminal) up(n int) {
	limit := 0
	if t.cur.y >= t.margins.top {
		limit = t.margins.top
	}
	t.cur.y = max(t.cur.y-n, limit)
	t.cur.pending = false
}

func (t *Terminal) down(n int) {
	limit := t.rows - 1
	if t.cur.y <= t.margins.bottom {
		limit = t.margins.bottom
	}
	t.cur.y = min(t.cur.y+n, limit)
	t.cur.pending = false
}

func (t *Terminal) right(n int) {
	t.cur.x = min(t.cur.x+n, t.lineEnd()-1)
	t.cur.pending = false
}

// left moves back n columns. With reverse wraparound (mode 45 with 7) it
// continues at the end of the row above.
func (t *Terminal) left(n int) {
	const both = modeReverseWrap | modeAutoWrap
	if t.modes.bits&both == both {
		t.leftWrapping(n)
		return
	}
	t.cur.x = max(t.cur.x-n, t.lineStart())
	t.cur.pending = false
}

func (t *Terminal) leftWrapping(n int) {
	if t.cur.pending {
		// The cursor stands after the last column: one step back is on it.
		t.cur.pending = false
		n--
	}
	n = min(n, t.cols*t.rows)
	for n > 0 {
		start := t.lineStart()
		step := min(n, t.cur.x-start)
		t.cur.x -= step
		if n -= step; n == 0 {
			return
		}
		n--
		t.cur.x = t.margins.right
		if t.cur.y == t.margins.top {
			t.cur.y = t.margins.bottom
		} else if t.cur.y--; t.cur.y < 0 {
			t.cur.y = t.rows - 1
		}
	}
}

// lineStart is the column that CR goes to and leftward moves stop at.
func (t *Terminal) lineStart() int {
	if t.cur.x >= t.margins.left {
		return t.margins.left
	}
	return 0
}

// lineEnd is one past the last column that text and rightward moves reach.
func (t *Terminal) lineEnd() int {
	return t.lineEndIn(t.row(t.cur.y))
}

// lineEndIn is lineEnd for the cursor's row.
func (t *Terminal) lineEndIn(l *line) int {
	if l.size != SingleSize {
		return l.room()
	}
	if t.cur.x <= t.margins.right {
		return t.margins.right + 1
	}
	return t.cols
}

func (t *Terminal) carriageReturn() {
	start := t.lineStart()
	if t.cur.origin {
		start = t.margins.left
	}
	t.cur.x, t.cur.pending = start, false
}

// charset is a national or graphic set for the codes 0x20 to 0x7e, named by
// the final byte that designates it.
type charset byte

const (
	charsetASCII    charset = 'B'
	charsetUK       charset = 'A'
	charsetGraphics charset = '0'
)

// charsets is the state of ISO 2022 switching.
type charsets struct {
	g      [4]charset
	gl     uint8 // which of g printable codes mean
	single uint8 // 2 or 3 for one character after SS2 or SS3, else 0
}

func newCharsets() charsets {
	return charsets{g: [4]charset{charsetASCII, charsetASCII, charsetASCII, charsetASCII}}
}

// plain reports that ASCII bytes mean themselves.
func (c *charsets) plain() bool { return c.g[c.gl] == charsetASCII && c.single == 0 }

// designate sets one of G0 to G3. Sets that den does not draw are ASCII.
func (c *charsets) designate(n int, final byte) {
	switch charset(final) {
	case charsetGraphics, charsetUK:
		c.g[n] = charset(final)
	default:
		c.g[n] = charsetASCII
	}
}

var graphics = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// translate maps one printable ASCII byte, using up a single shift.
func (c *charsets) translate(b byte) rune {
	set := c.g[c.gl]
	if c.single != 0 {
		set, c.single = c.g[c.single], 0
	}
	switch {
	case set == charsetGraphics && b >= 0x60:
		return graphics[b-0x60]
	case set == charsetGraphics && b == '_':
		return ' '
	case set == charsetUK && b == '#':
		return '£'
	}
	return rune(b)
}

// tabStops is a bit for each column that has a stop. It does not depend on
// the width, so resizing keeps the stops.
type tabStops [(MaxCols + 63) / 64]uint64

func (s *tabStops) reset() {
	for i := range s {
		s[i] = 0x0101010101010101 // every eighth column
	}
}

func (s *tabStops) set(x int)      { s[x/64] |= 1 << (x % 64) }
func (s *tabStops) clear(x int)    { s[x/64] &^= 1 << (x % 64) }
func (s *tabStops) has(x int) bool { return s[x/64]>>(x%64)&1 != 0 }

// tab moves to the n-th next stop, at most to the end of the line.
func (t *Terminal) tab(n int) {
	end := t.lineEnd() - 1
	for ; n > 0 && t.cur.x < end; n-- {
		for t.cur.x++; t.cur.x < end && !t.tabs.has(t.cur.x); t.cur.x++ {
		}
	}
}

// backTab moves to the n-th stop to the left.
func (t *Terminal) backTab(n int) {
	start := 0
	if t.cur.origin {
		start = t.margins.left
	}
	t.cur.pending = false
	for ; n > 0 && t.cur.x > start; n-- {
		for t.cur.x--; t.cur.x > start && !t.tabs.has(t.cur.x); t.cur.x-- {
		}
	}
}
