package vt

import (
	"strconv"
	"unicode/utf8"
)

// breakJoin is a control that changes nothing, but ends the cluster that a
// next rune might otherwise join: autowrap, which is on anyway.
const breakJoin = "\x1b[?7h"

// lines draws n rows one after the other from the top of an empty screen, so
// that those which do not fit scroll away.
func (d *dumper) lines(n int, at func(i int) *line) {
	next := at(0)
	for i := range n {
		l := next
		if i+1 < n {
			next = at(i + 1)
		}
		end := d.cells(l, 0, l.drawnEnd())
		if l.prompt != 0 {
			d.addf("\x1b_den;prompt;%d\x1b\\", l.prompt)
		}
		if l.size != SingleSize {
			d.b = append(d.b, 0x1b, '#', sizeCodes[l.size])
		}
		switch {
		case i == n-1:
		case l.wrapped && !l.endsBlank():
			d.wrapTo(l, end, next)
		default:
			if d.pen.style.bg != 0 {
				d.setPen(pen{}) // a new row takes the background
			}
			d.add("\r\n")
			d.join = joinNone
			if l.wrapped {
				d.add("\x1b_den;join\x1b\\")
			}
		}
	}
}

// drawnEnd is one past the last cell that is not as an empty row has it.
func (l *line) drawnEnd() int {
	if l.typed.on {
		return len(l.typed.text)
	}
	n := l.cols()
	for n > 0 && l.grid[n-1]&^cellPad == 0 {
		n--
	}
	return n
}

// endsBlank reports a blank last cell that no wide character made, or a part of
// an image. Only rewrapping makes such a row run on.
func (l *line) endsBlank() bool {
	c := l.at(l.cols() - 1)
	return c.blank() && c&cellPad == 0 || c.tile()
}

// wrapTo makes the reader, whose cursor stands at end, wrap from l to next. Where the
// next row's own first character cannot do it, something else is printed and
// erased again.
func (d *dumper) wrapTo(l *line, end int, next *line) {
	filler := " "
	if n := l.cols(); l.at(n-1)&cellPad != 0 {
		if end < n-1 {
			d.addf("\x1b[%dC", n-1-end)
			d.join = joinNone
		}
		filler = "\u3000" // a wide character that does not fit
	} else if c := next.at(0); !c.blank() && !c.tile() && d.t.styles.list[c.style()].bg == 0 {
		if r := d.t.firstRune(c); !d.join.takes(propsOf(r) & classMask) {
			return
		}
	}
	d.setPen(pen{})
	d.add(filler + "\r\x1b[K")
	d.join = joinNone
}

// cells draws columns [from, to) of a row. The reader's cursor is at from
// before, and at the returned column afterwards.
func (d *dumper) cells(l *line, from, to int) int {
	for x := from; x < to; {
		c := l.at(x)
		if !c.blank() {
			d.setStamp(l.stampAt(x))
		}
		if n := d.ascii(l, x, l.sameStamp(x, to)); n > 0 {
			x += n
			continue
		}
		if c.tile() {
			n := d.tiles(l, x, to)
			if x+n >= to {
				return x
			}
			d.control('C', n)
			x += n
			continue
		}
		if !c.blank() {
			d.char(c)
			x += c.width()
			continue
		}
		n := 1
		for x+n < to && l.at(x+n)&^cellPad == c&^cellPad {
			n++
		}
		d.join = joinNone
		if c&^cellPad != 0 {
			d.setPen(pen{style: style{bg: d.t.styles.list[c.style()].bg}})
			if x+n == l.cols() {
				d.add("\x1b[K")
				return x
			}
			d.control('X', n)
		}
		if x+n >= to {
			return x
		}
		d.control('C', n)
		x += n
	}
	return to
}

// control writes CSI n final; 1 is left out.
func (d *dumper) control(final byte, n int) {
	d.b = append(d.b, "\x1b["...)
	if n != 1 {
		d.b = strconv.AppendInt(d.b, int64(n), 10)
	}
	d.b = append(d.b, final)
}

// ascii prints the ASCII characters of one style from column x on, before to,
// and returns how many there are.
func (d *dumper) ascii(l *line, x, to int) int {
	if l.typed.on {
		text := l.typed.textAt(x, to)
		if len(text) > 0 {
			d.setStyleOf(l.typed.at(x))
			d.b = append(d.b, text...)
			d.join = joinPlain
		}
		return len(text)
	}
	n := 0
	cells := l.grid[x:to]
	for _, c := range cells {
		if v := c & (1<<styleShift - 1) &^ cellProtected; v == 0 || v >= utf8.RuneSelf || (c^cells[0])&^contentMask != 0 {
			break
		}
		if n == 0 {
			d.setStyleOf(c)
		}
		d.b = append(d.b, byte(c))
		n++
	}
	if n > 0 {
		d.join = joinPlain
	}
	return n
}

func (d *dumper) setStyleOf(c cell) {
	d.setPen(pen{style: d.t.styles.list[c.style()], protected: c&cellProtected != 0})
}

// char prints one character in its style.
func (d *dumper) char(c cell) {
	d.setStyleOf(c)
	base := d.t.firstRune(c)
	class := propsOf(base) & classMask
	if class == classRegional && c&cellWide == 0 {
		// Half a flag in one cell was printed without mode 2027.
		d.addf("\x1b[?2027l%s\x1b[?2027h", d.t.text(c))
		d.join = joinNone
		return
	}
	if d.join.takes(class) {
		d.add(breakJoin)
	}
	d.b = utf8.AppendRune(d.b, base)
	d.join = startsJoin(class)
	if c&cellCluster == 0 {
		return
	}
	text := d.t.text(c)[utf8.RuneLen(base):]
	if r, _ := utf8.DecodeRuneInString(text); r == emojiSelector && c&cellWide == 0 && takesEmojiSelector(base) {
		d.add(breakJoin) // the selector came without making the character wide
		d.join = joinNone
	}
	d.add(text)
	for _, r := range text {
		if p := propsOf(r); p.width() == 0 {
			d.join = d.join.withMark(r)
		} else {
			d.join = d.join.with(p & classMask)
		}
	}
}

// setPen writes the SGR, OSC 8 and DECSCA that the next characters need.
func (d *dumper) setPen(want pen) {
	have := &d.pen
	if want.style.image() != 0 {
		want.style.link = 0
	}
	if d.dropLink != nil && want.style.link != 0 && d.dropLink(want.style.link) {
		want.style.link = 0
	}
	if want.style.link != have.style.link {
		l := d.t.styles.link(want.style.link)
		if l.id != "" {
			d.addf("\x1b]8;id=%s;%s\x1b\\", l.id, l.uri)
		} else {
			d.addf("\x1b]8;;%s\x1b\\", l.uri)
		}
		have.style.link = want.style.link
	}
	if want.style != have.style {
		d.b = appendSGRChange(d.b, have.style, want.style)
		have.style = want.style
	}
	if want.protected != have.protected {
		if want.protected {
			d.add("\x1b[1\"q")
		} else {
			d.add("\x1b[0\"q")
		}
		have.protected = want.protected
		d.join = joinNone
	}
}

// setStamp names the event that wrote the next characters.
func (d *dumper) setStamp(want stamp) {
	if want != d.stamp && d.stamp != 0 {
		d.addf("\x1b_den;seq;%d\x1b\\", want.seq())
		d.stamp = want
	}
}
