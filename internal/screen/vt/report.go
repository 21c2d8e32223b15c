package vt

import "fmt"

// What den says it is: a VT220 with sixel graphics, ANSI colour and clipboard
// access. Programs compare the second number of the secondary
// attributes with patch levels of xterm: Emacs uses modifyOtherKeys from 216 on,
// asks for the background colour from 242 on, and vim for keys from 141 on.
const (
	deviceAttributes    = "\x1b[?62;4;22;52c"
	secondaryAttributes = "\x1b[>1;390;0c"        // a VT220 as xterm 390 is one
	tertiaryAttributes  = "\x1bP!|64656e00\x1b\\" // "den" and a zero, in hex
)

func (t *Terminal) replyf(format string, args ...any) { t.reply(fmt.Sprintf(format, args...)) }

// report answers the plain queries: DA1, DSR, window reports, DECREQTPARM.
func (t *Terminal) report(final byte) {
	p := &t.parser.params
	n := p.get(0, 0)
	switch final {
	case 'c':
		if n == 0 {
			t.reply(deviceAttributes)
		}
	case 'n':
		switch n {
		case 5:
			t.reply("\x1b[0n")
		case 6:
			x, y := t.reportedCursor()
			t.replyf("\x1b[%d;%dR", y, x)
		}
	case 't':
		t.window(n)
	case 'x':
		if n <= 1 {
			t.replyf("\x1b[%d;1;1;128;128;1;0x", n+2)
		}
	}
}

// reportedCursor is the cursor's position as CPR gives it: from 1, and
// relative to the margins under origin mode.
func (t *Terminal) reportedCursor() (x, y int) {
	x, y = t.cur.x+1, t.cur.y+1
	if t.cur.origin {
		// A restored cursor may stand outside the margins.
		x, y = max(x-t.margins.left, 1), max(y-t.margins.top, 1)
	}
	return x, y
}

// window is XTWINOPS, as far as a terminal without a window can.
func (t *Terminal) window(n int) {
	which := t.parser.params.get(1, 0)
	switch n {
	case 11:
		t.reply("\x1b[1t")
	case 14:
		t.replyf("\x1b[4;%d;%dt", t.rows*CellHeight, t.cols*CellWidth)
	case 15:
		t.replyf("\x1b[5;%d;%dt", t.rows*CellHeight, t.cols*CellWidth)
	case 16:
		t.replyf("\x1b[6;%d;%dt", CellHeight, CellWidth)
	case 18:
		t.replyf("\x1b[8;%d;%dt", t.rows, t.cols)
	case 19:
		t.replyf("\x1b[9;%d;%dt", t.rows, t.cols)
	case 20:
		t.reply("\x1b]L\x1b\\")
	case 21:
		t.reply("\x1b]l\x1b\\") // never the title: a program could make it type
	case 22:
		t.names.push(which)
	case 23:
		t.names.pop(which)
	}
}

// reportDEC answers DSR with the prefix '?'.
func (t *Terminal) reportDEC(n int) {
	switch n {
	case 6:
		x, y := t.reportedCursor()
		t.replyf("\x1b[?%d;%d;1R", y, x)
	case 15:
		t.reply("\x1b[?13n") // no printer
	case 25:
		t.reply("\x1b[?20n") // user keys unlocked
	case 26:
		t.reply("\x1b[?27;1;0;0n") // keyboard: North American
	case 55:
		t.reply("\x1b[?53n") // no locator
	case 56:
		t.reply("\x1b[?57;0n")
	case 75:
		t.reply("\x1b[?70n")
	case 996:
		t.reportColorScheme()
	}
}

// reportColorScheme answers DSR 996. Under mode 2031 it is also sent when the
// scheme changes.
func (t *Terminal) reportColorScheme() { t.replyf("\x1b[?997;%dn", t.colorScheme()) }

// Colour schemes as DSR 997 names them.
const (
	schemeDark  = 1
	schemeLight = 2
)

// colorScheme says whether text is lighter than its background, or darker.
func (t *Terminal) colorScheme() int {
	luma := func(c RGB) int { return 299*int(c.R) + 587*int(c.G) + 114*int(c.B) }
	if luma(t.colors.bg) > luma(t.colors.fg) {
		return schemeLight
	}
	return schemeDark
}

// reportSize is the report of mode 2048: when it is switched on, and after each resize.
func (t *Terminal) reportSize() {
	t.replyf("\x1b[48;%d;%d;%d;%dt", t.rows, t.cols, t.rows*CellHeight, t.cols*CellWidth)
}

// reportMode answers DECRQM.
func (t *Terminal) reportMode(num int, dec bool) {
	if dec {
		t.replyf("\x1b[?%d;%d$y", num, t.decModeState(num))
	} else {
		t.replyf("\x1b[%d;%d$y", num, t.ansiModeState(num))
	}
}

// reportGraphics answers XTSMGRAPHICS. Nothing can be set.
func (t *Terminal) reportGraphics() {
	p := &t.parser.params
	switch item := p.get(0, 0); item {
	case 1:
		t.replyf("\x1b[?1;0;%dS", sixelRegisters)
	case 2:
		t.replyf("\x1b[?2;0;%d;%dS", t.cols*CellWidth, t.rows*CellHeight)
	default:
		t.replyf("\x1b[?%d;1;0S", item) // no such item
	}
}

// reportChecksum answers DECRQCRA: the negated sum of the characters in a
// rectangle. A blank counts as a space, whether it was written or not, and
// attributes do not count, so that who asks for one cell learns what it shows.
func (t *Terminal) reportChecksum() {
	sum := uint16(0)
	if top, left, bottom, right, ok := t.area(2); ok {
		for y := top; y <= bottom; y++ {
			for _, c := range t.row(y).cells()[left : right+1] {
				sum += t.cellChecksum(c)
			}
		}
	}
	t.replyf("\x1bP%d!~%04X\x1b\\", t.parser.params.get(0, 0), -sum)
}

func (t *Terminal) cellChecksum(c cell) (sum uint16) {
	switch {
	case c&cellSpacer != 0: // its character counts in the cell before
		return 0
	case c.blank() || c.tile():
		return ' '
	}
	for _, r := range t.text(c) {
		sum += uint16(r)
	}
	return sum
}
