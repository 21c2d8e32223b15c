package vt

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// Diff returns "" when two terminals are equal in every observable way, now
// and after whatever both are fed next; else the first difference in words.
// Replies, marks and notes that were not yet taken do not count, nor do the
// numbers of events: see [DiffSeqs].
func Diff(a, b *Terminal) string {
	a.wrapDeep()
	b.wrapDeep()
	for _, d := range []string{
		differ("size", [2]int{a.cols, a.rows}, [2]int{b.cols, b.rows}),
		differ("scrollback length", a.hist.len(), b.hist.len()),
		differ("first line", a.hist.first, b.hist.first),
		differ("alternate screen", a.altActive(), b.altActive()),
	} {
		if d != "" {
			return d
		}
	}
	for i := range a.hist.len() {
		if d := diffLines(a, b, a.histLine(i), b.histLine(i)); d != "" {
			return fmt.Sprintf("row %d: %s", i-a.hist.len(), d)
		}
	}
	if d := diffScreens(a, b, a.main.rows, b.main.rows); d != "" {
		return "main screen, " + d
	}
	if len(a.below) != len(b.below) {
		return differ("rows below", len(a.below), len(b.below))
	}
	if d := diffScreens(a, b, a.below, b.below); d != "" {
		return "below the main screen, " + d
	}
	if d := diffScreens(a, b, a.altRows(), b.altRows()); d != "" {
		return "alternate screen, " + d
	}
	return diffState(a, b)
}

func differ[T comparable](what string, a, b T) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s: %+v and %+v", what, a, b)
}

func diffScreens(a, b *Terminal, x, y []*line) string {
	for i := range x {
		if d := diffLines(a, b, x[i], y[i]); d != "" {
			return fmt.Sprintf("row %d: %s", i, d)
		}
	}
	return ""
}

func diffLines(a, b *Terminal, x, y *line) string {
	if x.wrapped != y.wrapped {
		return differ("wrapped", x.wrapped, y.wrapped)
	}
	if x.size != y.size {
		return differ("size of characters", x.size, y.size)
	}
	if x.prompt != y.prompt {
		return differ("prompt marks", x.prompt, y.prompt)
	}
	const flags = cellWide | cellSpacer | cellProtected | cellPad
	for i := range x.cells() {
		c, d := x.cells()[i], y.cells()[i]
		if c == d && c>>styleShift == 0 && c&cellCluster == 0 {
			continue
		}
		var s string
		switch {
		case c.tile() || d.tile():
			if s = differ("image", a.tileView(c), b.tileView(d)); s == "" {
				continue
			}
		case a.text(c) != b.text(d):
			s = differ("text", a.text(c), b.text(d))
		case c&flags != d&flags:
			s = differ("flags", c&flags, d&flags)
		case a.StyleOf(c.style()) != b.StyleOf(d.style()):
			s = differ("style", a.StyleOf(c.style()), b.StyleOf(d.style()))
		default:
			continue
		}
		return fmt.Sprintf("column %d: %s", i, s)
	}
	return ""
}

// diffState compares all but the rows.
func diffState(a, b *Terminal) string {
	for _, d := range []string{
		differ("cursor", a.cursorView(a.cur), b.cursorView(b.cur)),
		differ("main saved cursor", a.savedView(&a.main), b.savedView(&b.main)),
		differ("alternate saved cursor", a.savedView(&a.alt), b.savedView(&b.alt)),
		differ("margins", a.margins, b.margins),
		differ("tab stops", a.tabs, b.tabs),
		differ("modes", a.modes, b.modes),
		differ("saved modes", a.saved, b.saved),
		differ("last character", a.lastView(), b.lastView()),
		differ("anchor", a.anchor, b.anchor),
		differ("main keyboard flags", a.main.kitty.view(), b.main.kitty.view()),
		differ("alternate keyboard flags", a.alt.kitty.view(), b.alt.kitty.view()),
		differ("colours", [3]RGB{a.colors.fg, a.colors.bg, a.colors.cursor}, [3]RGB{b.colors.fg, b.colors.bg, b.colors.cursor}),
		differ("title", a.names.title, b.names.title),
		differ("icon name", a.names.icon, b.names.icon),
		differ("working directory", a.names.dir, b.names.dir),
		differ("clipboard", fmt.Sprintf("%q", a.names.clipboard), fmt.Sprintf("%q", b.names.clipboard)),
		differ("clipboard written", a.names.clipboard != nil, b.names.clipboard != nil),
		differ("title stack", fmt.Sprintf("%q", a.names.titleStack), fmt.Sprintf("%q", b.names.titleStack)),
		differ("icon name stack", fmt.Sprintf("%q", a.names.iconStack), fmt.Sprintf("%q", b.names.iconStack)),
		differ("reading a dump", a.restore.open, b.restore.open),
		differ("unfinished sequence", fmt.Sprintf("%q", a.parser.appendPending(nil)), fmt.Sprintf("%q", b.parser.appendPending(nil))),
	} {
		if d != "" {
			return d
		}
	}
	if d := differ("images", a.images.view(), b.images.view()); d != "" {
		return d
	}
	if !slices.Equal(a.sgrStack, b.sgrStack) {
		return fmt.Sprintf("stack of styles: %+v and %+v", a.sgrStack, b.sgrStack)
	}
	if !maps.Equal(a.colors.special, b.colors.special) {
		return fmt.Sprintf("special colours: %v and %v", a.colors.special, b.colors.special)
	}
	if !maps.Equal(a.colors.palette, b.colors.palette) {
		return fmt.Sprintf("palette: %v and %v", a.colors.palette, b.colors.palette)
	}
	return ""
}

// cursorView is a cursor with its style spelled out, as style numbers mean
// nothing to another terminal.
type cursorView struct {
	x, y            int
	pending, origin bool
	protected       bool
	style           Style
	charsets        charsets
}

func (t *Terminal) cursorView(c cursor) cursorView {
	return cursorView{c.x, c.y, c.pending, c.origin, c.pen.protected, t.publicStyle(c.pen.style), c.charsets}
}

func (t *Terminal) savedView(b *buffer) cursorView {
	if !b.saved.set {
		return cursorView{x: -1}
	}
	return t.cursorView(b.saved.cursor)
}

func (t *Terminal) lastView() string {
	return fmt.Sprintf("%q wide=%t join=%d", t.text(t.last.content), t.last.content&cellWide != 0, t.last.join)
}

func (k *kittyStack) view() string {
	return fmt.Sprint(k.flags, slices.Clone(k.stack))
}

// tileView is what a cell shows of an image, and on what.
type tileView struct {
	tile   bool
	number int
	image  uint64 // or 0: it was deleted
	name   [3]int64
	bg     Color
}

func (t *Terminal) tileView(c cell) tileView {
	v := tileView{bg: t.backgroundOf(c), tile: c.tile()}
	if v.tile {
		v.number = c.tileNumber()
	}
	if p := t.placedAt(c); p != nil {
		v.image, v.name = p.img.ID, [3]int64{int64(p.id), int64(p.place), int64(p.z)}
	}
	return v
}

// view is the images that can be shown later.
func (m *images) view() string {
	if m == nil {
		return ""
	}
	out := ""
	for _, n := range m.named {
		out += fmt.Sprintf("image %d, %d: %x; ", n.id, n.number, n.pic.sum)
	}
	for _, v := range m.virtual {
		out += fmt.Sprintf("virtual %d, %d: %x; ", v.id, v.place, v.img.ID)
	}
	if u := m.upload; u != nil {
		out += fmt.Sprintf("upload %q, %t: %x", u.control, u.long, sha256.Sum256(u.data))
	}
	return out
}

// DiffSeqs returns "" when the characters of two terminals that are equal by
// [Diff] carry the same numbers; else the first difference in words.
func DiffSeqs(a, b *Terminal) string {
	a.wrapDeep()
	b.wrapDeep()
	if a.stamp != b.stamp {
		return differ("number of the event", a.stamp.seq(), b.stamp.seq())
	}
	for i := range a.hist.len() {
		if d := diffStamps(a.histLine(i), b.histLine(i)); d != "" {
			return fmt.Sprintf("row %d: %s", i-a.hist.len(), d)
		}
	}
	for _, rows := range [][2][]*line{{a.main.rows, b.main.rows}, {a.below, b.below}, {a.altRows(), b.altRows()}} {
		for y, l := range rows[0] {
			if d := diffStamps(l, rows[1][y]); d != "" {
				return fmt.Sprintf("row %d: %s", y, d)
			}
		}
	}
	return ""
}

func diffStamps(a, b *line) string {
	for x, c := range a.cells() {
		if !c.blank() && c&cellSpacer == 0 && a.stampAt(x) != b.stampAt(x) {
			return fmt.Sprintf("column %d: %s", x, differ("event", a.stampAt(x).seq(), b.stampAt(x).seq()))
		}
	}
	return ""
}
