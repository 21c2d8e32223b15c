package vt

import "fmt"

// Settling returns what brings a terminal that a program left behind into the
// state in which a shell shows its prompt: the main screen, no margins, the usual
// character set, keys and mouse, and the cursor below everything that stands
// there. It is nil where nothing is to be done. The parser must be between two
// sequences. Feed it, and call it again: what the main screen shows is known
// only once it is shown.
//
// What a user sets for good stays: tab stops, the cursor's shape, colours, titles.
// Nobody wants none of the tab stops.
func (t *Terminal) Settling() []byte {
	var b []byte
	add := func(is bool, s string) {
		if is {
			b = append(b, s...)
		}
	}
	m, usual := &t.modes, newModes()
	alt := t.altActive()
	add(!t.screen.kitty.empty(), leaveKitty(&t.screen.kitty))
	if t.cur.origin || m.has(modeMargins) || t.margins.top != 0 || t.margins.bottom != t.rows-1 {
		add(m.has(modeMargins), "\x1b[?69l")
		// Both home the cursor: it is brought back.
		b = fmt.Appendf(b, "\x1b[?6l\x1b[r\x1b[%d;%dH", t.cur.y+1, t.cur.x+1)
	}
	switch {
	case alt && t.main.saved.set:
		b = append(b, "\x1b[?1049l"...)
	case alt:
		b = append(b, "\x1b[?1047l"...)
	}
	for _, mode := range settledModes {
		i := decModeIndex(mode)
		if bit := decModes[i].bit; m.has(bit) != usual.has(bit) {
			b = fmt.Appendf(b, "\x1b[?%d%c", mode, hl(usual.has(bit)))
		}
	}
	add(!alt && t.row(t.cur.y).size != SingleSize, "\x1b#5")
	add(t.tabs == tabStops{}, "\x1b[?5W")
	add(m.has(modeInsert), "\x1b[4l")
	add(m.has(modeNewLine), "\x1b[20l")
	if m.mouse != MouseNone {
		b = fmt.Appendf(b, "\x1b[?%dl", [...]int{0, 9, 1000, 1002, 1003}[m.mouse])
	}
	if m.mouseEncoding != MouseDefault {
		b = fmt.Appendf(b, "\x1b[?%dl", [...]int{0, 1005, 1006, 1015, 1016}[m.mouseEncoding])
	}
	add(m.modifyOther != 0, "\x1b[>4;0m")
	add(t.cur.charsets != newCharsets(), "\x1b(B\x1b)B\x1b*B\x1b+B\x0f")
	add(t.cur.single != 0, "\x1b7\x1b8") // forgets it
	add(t.cur.pen.protected, "\x1b[0\"q")
	add(t.cur.pen.style.link != 0, "\x1b]8;;\x1b\\")
	add(t.cur.pen.style != style{link: t.cur.pen.style.link}, "\x1b[m")
	if len(b) == 0 {
		return t.belowAll()
	}
	return b
}

// Unusual reports whether text goes elsewhere than in a terminal that no program has
// changed, or looks other: the alternate screen, margins, insert mode, another
// character set, letters of double size.
func (t *Terminal) Unusual() bool {
	m := &t.modes
	return t.altActive() || t.cur.origin || t.margins.top != 0 || t.margins.bottom != t.rows-1 ||
		m.has(modeMargins) || m.has(modeInsert) || m.has(modeNewLine) || !m.has(modeAutoWrap) ||
		t.cur.charsets != newCharsets() || t.row(t.cur.y).size != SingleSize
}

// leaveKitty ends what programs have set and pushed of the keyboard's flags.
func leaveKitty(k *kittyStack) string { return fmt.Sprintf("\x1b[<%du\x1b[=0u", len(k.stack)+1) }

// settledModes are the modes that programs switch on for themselves alone, or off.
// Bracketed paste is not one: a shell's editor may have switched it on already.
var settledModes = [...]int{1, 5, 7, 8, 25, 45, 66, 67, 1004, 1007, 2026, 2031, 2048, 80, 8452}

// belowAll goes to a row of its own, if something stands at the cursor or behind
// it.
func (t *Terminal) belowAll() []byte {
	last := t.rows - 1
	for last > t.cur.y && t.rowEmpty(last) {
		last--
	}
	if last == t.cur.y && (t.cur.pending || t.nothingFrom(last, t.cur.x)) {
		return nil
	}
	return fmt.Appendf(nil, "\x1b[%d;1H\r\n", last+1)
}

func (t *Terminal) rowEmpty(y int) bool { return t.Row(y).TextLen() == 0 }

// nothingFrom reports whether row y is blank from column x on.
func (t *Terminal) nothingFrom(y, x int) bool { return t.Row(y).TextLen() <= x }
