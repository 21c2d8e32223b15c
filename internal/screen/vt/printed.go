package vt

import "slices"

// moved is what a row's cells do not tell of the text that was printed into it:
// how the cursor came to where the text begins, and goes on. It is a hint: a
// dump does not have it, nor does the packed scrollback.
type moved struct {
	tabs   []tabbed
	indent int // the column in which a line feed alone entered the row, which was empty
}

// tabbed is a tab: the column it began in, behind all columns where a wrap was
// pending, and that which it led to.
type tabbed struct{ from, to uint16 }

// maxTabs bounds the tabs of a row that are remembered.
const maxTabs = 512

func (m *moved) clear() {
	if m.indent != 0 || len(m.tabs) > 0 {
		m.indent, m.tabs = 0, m.tabs[:0]
	}
}

// horizontalTab is HT.
func (t *Terminal) horizontalTab() {
	l, from := t.row(t.cur.y), t.cur.x
	if t.cur.pending {
		from++
	}
	t.tab(1)
	m := &l.moved
	for n := len(m.tabs); n > 0 && int(m.tabs[n-1].to) > from; n-- { // the text begins anew
		m.tabs = m.tabs[:n-1]
	}
	if len(m.tabs) < maxTabs {
		m.tabs = append(m.tabs, tabbed{uint16(from), uint16(max(from, t.cur.x))})
	}
}

// indentRow notes that the cursor entered a row by a line feed alone, as where
// the terminal is raw.
func (t *Terminal) indentRow() {
	if l := t.row(t.cur.y); l.empty() {
		l.moved.indent = t.cur.x
	}
}

// AppendPrinted appends what was printed to the cells [from, to): as
// AppendWritten, but with tabs where the program printed some, without the
// blanks that a line feed alone left at the row's begin, and with blanks for
// what no event after since wrote. A row of the scrollback may have lost its
// tabs unless it is among the newest.
//
// echoed says that what has the number 0 is the echo of an answer, which was
// printed since, and not older text.
func (r Row) AppendPrinted(dst []byte, from, to int, since uint64, echoed bool) []byte {
	m := &r.l.moved
	if since > 0 && r.l.oldest() > stampOf(since) {
		since = 0
	}
	if len(m.tabs) == 0 && m.indent == 0 && since == 0 {
		return r.AppendWritten(dst, from, to)
	}
	to = min(to, r.Len())
	has := func(col int) bool {
		if seq := r.Seq(col); seq <= since && since > 0 && !(seq == 0 && echoed) {
			return false
		}
		c := r.l.cells()[col]
		return !c.blank() && !r.t.showsImage(c)
	}
	end, begin := len(dst), from
	if from == 0 {
		for begin < min(m.indent, to) && !has(begin) && !m.tabAt(begin) {
			begin++
		}
	}
	fresh := since == 0 // a tab here is not one of the older text
	for col := begin; col <= to; {
		next := col
		for _, tab := range m.tabs {
			if int(tab.from) != col || int(tab.to) > to || next > col {
				continue
			}
			blank := true
			for x := col; x < int(tab.to) && blank; x++ {
				blank = !has(x) || r.l.cells()[x].content() == ' ' // it looks the same
			}
			if blank {
				dst, next = append(dst, '\t'), int(tab.to)
				if fresh {
					end = len(dst)
				}
			}
		}
		if next > col {
			col = next
			continue
		}
		if col == to {
			break
		}
		switch {
		case r.Width(col) == 0: // the second half of a wide character
		case has(col):
			dst = r.AppendCell(dst, col)
			end, fresh = len(dst), true
		default:
			dst = append(dst, ' ')
			fresh = since == 0
		}
		col++
	}
	return dst[:end]
}

// oldest is the lowest stamp of the row.
func (l *line) oldest() stamp {
	if l.stamp != mixed {
		return l.stamp
	}
	least := l.spans[0].by
	for _, s := range l.spans[1:] {
		least = min(least, s.by)
	}
	return least
}

// erase forgets the tabs of columns [from, to).
func (m *moved) erase(from, to int) {
	if len(m.tabs) == 0 {
		return
	}
	m.tabs = slices.DeleteFunc(m.tabs, func(tab tabbed) bool { return int(tab.from) >= from && int(tab.to) <= to })
}

// tabAt reports whether a tab begins in a column.
func (m *moved) tabAt(col int) bool {
	for _, tab := range m.tabs {
		if int(tab.from) == col {
			return true
		}
	}
	return false
}
