package vt

// lastChar remembers the character just printed, for REP and for runes that
// join it. Every control but SGR and the strings forgets it.
type lastChar struct {
	content cell // with cellWide; 0 = none
	join    joinState
}

// joinState says what the next rune could join.
type joinState uint8

const (
	joinNone     joinState = iota
	joinPlain              // a character: only marks join
	joinPict               // a pictograph and marks
	joinPictZWJ            // ... and a zero width joiner
	joinRegional           // the first half of a flag
)

// startsJoin is the state after a character of a class.
func startsJoin(class props) joinState {
	switch class {
	case classPict, classModifier:
		return joinPict
	case classRegional:
		return joinRegional
	}
	return joinPlain
}

// takes reports whether a rune with a width of its own joins the cluster.
func (j joinState) takes(class props) bool {
	switch class {
	case classPict:
		return j == joinPictZWJ
	case classRegional:
		return j == joinRegional
	case classModifier:
		return j == joinPict
	}
	return false
}

// with is the state after such a rune joined.
func (j joinState) with(class props) joinState {
	if class == classRegional {
		return joinPlain // a flag is complete
	}
	return joinPict
}

// withMark is the state after a rune without width joined.
func (j joinState) withMark(r rune) joinState {
	switch {
	case j == joinPict && r == zeroWidthJoiner:
		return joinPictZWJ
	case j == joinPict || j == joinNone:
		return j
	}
	return joinPlain
}

func (t *Terminal) forgetLast() { t.last = lastChar{} }

// updateQuick recomputes whether printable ASCII can be copied to the row as
// it is. Call it after changing insert mode, autowrap, charsets or DECSCA.
func (t *Terminal) updateQuick() {
	t.quick = t.modes.bits&(modeInsert|modeAutoWrap) == modeAutoWrap && t.cur.plain() && !t.cur.pen.protected
}

// printASCII prints a run of bytes 0x20 to 0x7e.
func (t *Terminal) printASCII(p []byte) {
	if !t.quick {
		for _, b := range p {
			r := t.cur.translate(b)
			t.printRune(r)
		}
		if !t.quick {
			t.updateQuick() // a single shift may be used up
		}
		return
	}
	bits := t.penBits()
	t.last = lastChar{content: cell(p[len(p)-1]), join: joinPlain}
	for len(p) > 0 {
		if t.cur.pending {
			t.wrap()
		}
		l := t.row(t.cur.y)
		end := t.lineEndIn(l)
		x := min(t.cur.x, end-1) // a double row may be shorter than the one the cursor came from
		n := min(len(p), end-x)
		if x+n == l.cols() {
			l.endChanged()
		}
		if l.typed.on {
			l.typed.put(x, p[:n], bits.style())
		} else {
			t.splitAt(l, x)
			t.splitAt(l, x+n)
			drawASCII(l.grid[x:x+n], p[:n], bits)
		}
		l.written(x, n, t.stamp)
		if x += n; x == end {
			x--
			t.cur.pending = true
		}
		t.cur.x = x
		p = p[n:]
	}
}

// wrap goes to the start of the next row, because the row is full. It returns
// the row that now runs on, or nil where none does.
func (t *Terminal) wrap() *line {
	t.cur.pending = false
	y := t.cur.y
	atEdge := t.cur.x == t.cols-1 && t.fullWidth() && t.row(y).size == SingleSize
	scrolls := y == t.margins.bottom && (t.margins.top < y || y == 0)
	t.lineFeed()
	t.cur.x = t.lineStart()
	if !atEdge || !scrolls && t.cur.y == y {
		return nil
	}
	var l *line
	if t.cur.y > 0 {
		l = t.row(t.cur.y - 1)
	} else if !t.altActive() {
		l = t.hist.last() // a region of one row at the top
	}
	if l != nil {
		l.wrapped = true
	}
	return l
}

// printRune prints one rune that is no control.
func (t *Terminal) printRune(r rune) {
	p := t.propsOf(r)
	w := p.width()
	if w == 0 {
		t.attach(r)
		return
	}
	class := p & classMask
	if t.last.join.takes(class) {
		t.joinTo(r, t.last.join.with(class))
		return
	}
	content := cell(r)
	if w == 2 {
		content |= cellWide
	}
	if !t.put(content) {
		t.forgetLast()
		return
	}
	t.last = lastChar{content: content, join: startsJoin(class)}
}

// put prints one character cell: content and width, in the current style. It
// reports false for a wide character that does not fit, without autowrap: as in
// xterm it is lost.
func (t *Terminal) put(content cell) bool {
	w := 1
	if content&cellWide != 0 && t.cols > 1 {
		w = 2 // in one column a wide character is squeezed rather than lost
	}
	bits := t.penBits()
	wraps := t.modes.has(modeAutoWrap)
	if t.cur.pending {
		if wraps {
			t.wrap()
		} else {
			t.cur.pending = false
		}
	}
	end := t.lineEnd()
	t.cur.x = min(t.cur.x, end-1) // a double row may be shorter than the one the cursor came from
	if w == 2 && t.cur.x == end-1 {
		if !wraps {
			return false
		}
		t.wrapWide()
		if end = t.lineEnd(); t.cur.x+2 > end {
			return false // a double row with room for one column
		}
	}
	l := t.row(t.cur.y)
	x := t.cur.x
	if t.modes.has(modeInsert) {
		t.insertCells(l, x, w, end)
	}
	t.splitAt(l, x)
	t.splitAt(l, x+w)
	if x+w >= l.cols() {
		l.endChanged()
	}
	cells := l.edit()
	cells[x] = bits | content
	if w == 2 && x+1 < len(cells) {
		cells[x+1] = bits | cellSpacer
	}
	l.written(x, min(w, len(cells)-x), t.stamp)
	if x += w; x >= end {
		x = end - 1
		t.cur.pending = true
	}
	t.cur.x = x
	return true
}

// wrapWide leaves the last column blank, for a wide character that does not
// fit, and wraps.
func (t *Terminal) wrapWide() {
	t.eraseEnd()
	if l := t.wrap(); l != nil {
		l.edit()[l.cols()-1] = cellPad
	}
}

// eraseEnd blanks the cell under the cursor.
func (t *Terminal) eraseEnd() {
	l, x := t.row(t.cur.y), t.cur.x
	t.splitAt(l, x)
	t.splitAt(l, x+1)
	if x == l.cols()-1 {
		l.endChanged()
	}
	l.edit()[x] = 0
}

// previous finds the cell that a joining rune belongs to: the one just left of
// the cursor, or under it while a wrap is pending.
func (t *Terminal) previous() (l *line, x int, ok bool) {
	x = t.cur.x
	if !t.cur.pending {
		x--
	}
	if x < 0 {
		return nil, 0, false
	}
	l = t.row(t.cur.y)
	if l.cells()[x]&cellSpacer != 0 && x > 0 {
		x--
	}
	return l, x, x < l.room()
}

// attach adds a rune without width of its own to the character before it.
func (t *Terminal) attach(r rune) {
	l, x, ok := t.previous()
	if !ok {
		return
	}
	c := &l.edit()[x]
	base := c.content()
	if base == 0 || c.tile() {
		if c.tile() {
			*c = t.blankOf(*c)
		}
		base = ' '
		*c &^= cellPad
	}
	joined := t.last.join != joinNone
	widens := r == emojiSelector && joined && t.modes.has(modeClusters) && base&cellCluster == 0 &&
		*c&cellWide == 0 && takesEmojiSelector(rune(base))
	content := t.extend(base, r)
	*c = *c&^contentMask | content
	l.written(x, 1, t.stamp)
	if !joined {
		return
	}
	t.last.content = t.last.content&cellWide | content
	t.last.join = t.last.join.withMark(r)
	if widens {
		t.widen(l, x)
	}
}

// joinTo adds a rune with a width of its own, which the cluster swallows.
func (t *Terminal) joinTo(r rune, next joinState) {
	l, x, ok := t.previous()
	if !ok || l.cells()[x].blank() || l.cells()[x].tile() {
		t.last.join = joinNone
		return
	}
	c := &l.edit()[x]
	*c = *c&^contentMask | t.extend(c.content(), r)
	l.written(x, 1, t.stamp)
	t.last = lastChar{content: t.last.content&cellWide | c.content(), join: next}
}

// widen makes the narrow character at x two cells wide, after an emoji
// selector. At the right edge it moves to the next row, as a wide character
// printed there would have; without autowrap it stays narrow and joins nothing more.
func (t *Terminal) widen(l *line, x int) {
	c := l.cells()[x]
	if t.cols == 1 {
		l.edit()[x] |= cellWide
		t.last.content |= cellWide
		return
	}
	if t.cur.pending {
		if !t.modes.has(modeAutoWrap) {
			t.last.join = joinNone
			return
		}
		t.cur.pending = false
		t.cur.x = x
		t.wrapWide()
		l, x = t.row(t.cur.y), t.cur.x
	} else {
		t.cur.x = x
	}
	if x+2 > t.lineEnd() { // a double row with room for one column
		t.last.join = joinNone
		return
	}
	if t.modes.has(modeInsert) {
		t.insertCells(l, x, 1, t.lineEnd())
	}
	t.splitAt(l, x)
	t.splitAt(l, x+2)
	end := t.lineEnd()
	cells := l.edit()
	cells[x], cells[x+1] = c|cellWide, c&^contentMask|cellSpacer
	l.written(x, 2, t.stamp)
	if x+2 >= l.cols() {
		l.endChanged()
	}
	t.last.content |= cellWide
	if t.cur.x = x + 2; t.cur.x >= end {
		t.cur.x = end - 1
		t.cur.pending = true
	}
}

// repeat prints the last character n more times (REP). More than a screenful
// changes nothing that a screenful does not.
func (t *Terminal) repeat(n int) {
	content := t.last.content
	if content == 0 {
		return
	}
	for range min(n, t.cols*t.rows) {
		t.put(content)
	}
	t.last = lastChar{} // a REP repeats a character, not a REP
}
