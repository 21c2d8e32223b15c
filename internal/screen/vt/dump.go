package vt

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
)

// Dump returns bytes that, fed to a fresh terminal of the same size and
// Config, give an equal terminal: Diff finds nothing. They begin with a reset,
// so they can also be played on any other terminal in any state, and all that
// can be seen comes from standard sequences. What no standard sequence can say
// stands in APC strings of den's own, which other terminals swallow.
//
// Feeding a dump makes no replies, marks or notes. It is valid UTF-8 unless
// the terminal is inside a string, such as a title, that is not.
func (t *Terminal) Dump() []byte {
	t.wrapDeep()
	d := dumper{t: t, b: make([]byte, 0, 4096+t.hist.cold.size()*9/8), stamp: stampOf(0)}
	d.add(dumpIntro + "\x1b[?2027h") // rows may hold characters that were joined
	d.images()
	d.mainScreen()
	d.belowRows()
	d.altScreen()
	d.namesAndColors()
	d.tabStops()
	d.marginsAndCursor()
	d.modes()
	d.charsets(&t.cur.charsets)
	if t.cur.single != 0 {
		d.add("\x1b" + string('N'+rune(t.cur.single-2)))
	}
	d.sgrStack()
	d.setPen(t.cur.pen)
	d.private()
	if t.parser.state == ground && !t.restore.open {
		return d.b
	}
	return t.parser.appendPending(d.b)
}

// dumper writes a dump and keeps track of what the terminal that reads it
// has come to.
type dumper struct {
	t     *Terminal
	b     []byte
	pen   pen       // style and protected only
	join  joinState // what the next rune could join by mistake
	stamp stamp     // or 0: events are not named
	// dropLink reports whether a hyperlink is to be left out; or nil.
	dropLink func(link uint32) bool
	placed   map[uint32]int // the numbers of images in this dump
}

func (d *dumper) add(s string) { d.b = append(d.b, s...) }

func (d *dumper) addf(format string, args ...any) { d.b = fmt.Appendf(d.b, format, args...) }

func (d *dumper) mainScreen() {
	t, above := d.t, d.t.hist.len()
	cells := make([]cell, 2*t.cols)
	// Two rows are looked at at a time.
	scratch := [2]line{{grid: cells[:t.cols]}, {grid: cells[t.cols:]}}
	d.lines(above+t.rows, func(i int) *line {
		if i >= above {
			return t.main.rows[i-above]
		}
		return t.hist.at(i, &scratch[i%2])
	})
	d.perScreen(&d.t.main)
}

// altScreen draws the alternate screen, where there is anything on it. It is
// entered by mode 47, the only one that does nothing else.
func (d *dumper) altScreen() {
	t := d.t
	if !t.altActive() && !t.alt.saved.set && t.alt.kitty.empty() &&
		!slices.ContainsFunc(t.alt.rows, func(l *line) bool { return !l.empty() }) {
		return
	}
	d.setPen(pen{})
	d.add("\x1b[?47h\x1b[H")
	rows := t.altRows()
	d.lines(t.rows, func(i int) *line { return rows[i] })
	d.perScreen(&t.alt)
	if !t.altActive() {
		d.add("\x1b[?47l")
	}
}

// perScreen restores the saved cursor and the keyboard flags of the screen
// that is shown. Margins are still the whole screen, so positions are absolute.
func (d *dumper) perScreen(b *buffer) {
	if s := &b.saved; s.set {
		if s.origin {
			d.add("\x1b[?6h")
		}
		d.addf("\x1b[%d;%dH", s.y+1, s.x+1)
		if s.pending {
			d.add("\x1b_den;wrap\x1b\\")
		}
		d.charsets(&s.charsets)
		d.setPen(s.pen)
		d.add("\x1b7")
		plain := newCharsets()
		if s.charsets != plain {
			d.add("\x1b(B\x1b)B\x1b*B\x1b+B\x0f")
		}
		if s.origin {
			d.add("\x1b[?6l")
		}
	}
	if k := &b.kitty; !k.empty() {
		first := k.flags
		if len(k.stack) > 0 {
			first = k.stack[0]
		}
		d.addf("\x1b[=%d;1u", first)
		for _, flags := range append(slices.Clone(k.stack), k.flags)[1:] {
			d.addf("\x1b[>%du", flags)
		}
	}
}

func (k *kittyStack) empty() bool { return k.flags == 0 && len(k.stack) == 0 }

// charsets designates and invokes what differs from the power-on state.
func (d *dumper) charsets(c *charsets) {
	for i, set := range c.g {
		if set != charsetASCII {
			d.b = append(d.b, 0x1b, "()*+"[i], byte(set))
		}
	}
	d.add([...]string{"", "\x0e", "\x1bn", "\x1bo"}[c.gl])
}

func (d *dumper) namesAndColors() {
	n, c := &d.t.names, &d.t.colors
	osc := func(num int, text string) { d.addf("\x1b]%d;%s\x1b\\", num, text) }
	for _, s := range n.titleStack {
		osc(2, s)
		d.add("\x1b[22;2t")
	}
	for _, s := range n.iconStack {
		osc(1, s)
		d.add("\x1b[22;1t")
	}
	if n.title != "" || len(n.titleStack) > 0 {
		osc(2, n.title)
	}
	if n.icon != "" || len(n.iconStack) > 0 {
		osc(1, n.icon)
	}
	if n.dir != "" {
		osc(7, n.dir)
	}
	for _, i := range slices.Sorted(maps.Keys(c.palette)) {
		osc(4, fmt.Sprintf("%d;%s", i, c.palette[i].spec()))
	}
	for _, i := range slices.Sorted(maps.Keys(c.special)) {
		osc(5, fmt.Sprintf("%d;%s", i, c.special[i].spec()))
	}
	if c.fg != c.defaultFg {
		osc(10, c.fg.spec())
	}
	if c.bg != c.defaultBg {
		osc(11, c.bg.spec())
	}
	if c.cursor != c.defaultCursor {
		osc(12, c.cursor.spec())
	}
}

// tabStops sets stops and clears them where they differ from the usual ones.
// Those beyond the right edge, which a resize will show, cannot be reached so.
func (d *dumper) tabStops() {
	var usual, reached tabStops
	usual.reset()
	reached.reset()
	if d.t.tabs == usual {
		return
	}
	if d.t.tabs == (tabStops{}) {
		d.add("\x1b[3g")
		return
	}
	for x := range d.t.cols {
		if d.t.tabs.has(x) == usual.has(x) {
			continue
		}
		d.addf("\x1b[1;%dH", x+1)
		if d.t.tabs.has(x) {
			d.add("\x1bH")
			reached.set(x)
		} else {
			d.add("\x1b[g")
			reached.clear(x)
		}
	}
	if reached != d.t.tabs {
		d.add("\x1b_den;tabs")
		for _, w := range d.t.tabs {
			d.addf(";%x", w)
		}
		d.add("\x1b\\")
	}
}

func (d *dumper) marginsAndCursor() {
	t := d.t
	m, c := &t.margins, &t.cur
	if t.modes.has(modeMargins) {
		d.add("\x1b[?69h")
		if !t.fullWidth() {
			d.addf("\x1b[%d;%ds", m.left+1, m.right+1)
		}
	}
	if m.top != 0 || m.bottom != t.rows-1 {
		d.addf("\x1b[%d;%dr", m.top+1, m.bottom+1)
	}
	x, y := c.x, c.y
	if c.origin {
		d.add("\x1b[?6h")
		x, y = x-m.left, y-m.top
	}
	l := t.row(c.y)
	start := c.x - l.cells()[c.x].half() // of the character that was just written
	// Other terminals wait to wrap only after a character was printed here.
	reprint := c.pending && c.x == t.lineEnd()-1 && !l.cells()[c.x].blank() && !l.cells()[c.x].tile() && !l.wrapped && (!c.origin || t.inMargins())
	if reprint {
		x -= c.x - start
	}
	d.addf("\x1b[%d;%dH", max(y, 0)+1, max(x, 0)+1)
	if reprint {
		d.cells(l, start, c.x+1)
		d.add(breakJoin)
	}
	if c.origin && !t.inMargins() {
		d.addf("\x1b_den;at;%d;%d\x1b\\", c.y, c.x)
	}
	if c.pending {
		d.add("\x1b_den;wrap\x1b\\")
	}
}

// half is 1 in the second half of a wide character.
func (c cell) half() int {
	if c&cellSpacer != 0 {
		return 1
	}
	return 0
}

func (d *dumper) modes() {
	m, usual := &d.t.modes, newModes()
	usual.set(modeClusters, true) // as the dump began
	if m.cursorShape != usual.cursorShape || m.has(modeCursorBlink) {
		d.addf("\x1b[%d q", d.t.cursorStyle())
	}
	for _, mode := range decModes {
		if on := m.has(mode.bit); mode.bit != modeMargins && mode.bit != modeCursorBlink && mode.bit != modeColumnSwitch && on != usual.has(mode.bit) {
			d.addf("\x1b[?%d%c", mode.num, hl(on))
		}
	}
	if m.has(modeColumnSwitch) { // after DECCOLM, which would clear the screen
		d.add("\x1b[?40h")
	}
	if m.has(modeInsert) {
		d.add("\x1b[4h")
	}
	if m.has(modeNewLine) {
		d.add("\x1b[20h")
	}
	if m.mouse != MouseNone {
		d.addf("\x1b[?%dh", [...]int{0, 9, 1000, 1002, 1003}[m.mouse])
	}
	if m.mouseEncoding != MouseDefault {
		d.addf("\x1b[?%dh", [...]int{0, 1005, 1006, 1015, 1016}[m.mouseEncoding])
	}
	if m.modifyOther != 0 {
		d.addf("\x1b[>4;%dm", m.modifyOther)
	}
}

func hl(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}

// private writes what only den understands. The last character comes last, as
// any other control would make the reader forget it.
func (d *dumper) private() {
	t := d.t
	d.setStamp(t.stamp)
	if t.hist.first != 0 {
		d.addf("\x1b_den;first;%d\x1b\\", t.hist.first)
	}
	if t.anchor != (anchor{}) {
		d.addf("\x1b_den;anchor;%d;%d\x1b\\", t.anchor.up, t.anchor.col)
	}
	if t.saved != (savedModes{}) {
		d.addf("\x1b_den;modes;%x;%x\x1b\\", t.saved.known, t.saved.on)
	}
	if t.names.clipboard != nil {
		d.addf("\x1b_den;clip;%s\x1b\\", base64.StdEncoding.EncodeToString(t.names.clipboard))
	}
	if t.last != (lastChar{}) {
		wide := 0
		if t.last.content&cellWide != 0 {
			wide = 1
		}
		d.addf("\x1b_den;last;%d;%d;%x\x1b\\", t.last.join, wide, t.text(t.last.content))
	}
	if !t.restore.open {
		// Half a rune goes into the string, so that the dump is whole text,
		// which recordings want.
		d.addf("\x1b_den;end;%x\x1b\\", t.parser.partial[:t.parser.nPartial])
	}
}

// altRows is the alternate screen, empty where it was never used.
func (t *Terminal) altRows() []*line {
	if t.alt.rows == nil {
		return newLines(t.rows, t.cols)
	}
	return t.alt.rows
}
