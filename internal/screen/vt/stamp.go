package vt

import (
	"encoding/binary"
	"slices"
)

// stamp is the number of the event that last wrote a cell, plus one. 0 is a row
// that holds no character.
type stamp uint64

// mixed is a row whose characters were written by several events: line.spans
// then says which wrote what. Most rows are written by one event and need no
// more than one number.
const mixed = ^stamp(0)

// span is neighbouring columns of one stamp. It begins where the one before it
// ends.
type span struct {
	end int
	by  stamp
}

// stampOf is the stamp of event seq.
func stampOf(seq uint64) stamp { return stamp(seq) + 1 }

func (s stamp) seq() uint64 {
	if s == 0 {
		return 0
	}
	return uint64(s - 1)
}

// SetSeq sets the number of the event that writes from now on: every character
// remembers the one that wrote it last. Text that scrolls, is shifted or is
// wrapped anew keeps its number. The number before the first call is 0.
func (t *Terminal) SetSeq(seq uint64) { t.stamp = stampOf(seq) }

// Seq is the number of the event that last wrote the character in column col.
// It is meaningless for a blank.
func (r Row) Seq(col int) uint64 { return r.l.stampAt(col).seq() }

// MaxSeq is a number that no character of the row exceeds.
func (r Row) MaxSeq() uint64 {
	if r.l.stamp != mixed {
		return r.l.stamp.seq()
	}
	last := stamp(0)
	for _, s := range r.l.spans {
		last = max(last, s.by)
	}
	return last.seq()
}

// Restamp sets the number of columns [from, to) of a row of the screen.
func (t *Terminal) Restamp(row, from, to int, seq uint64) {
	t.row(row).written(from, to-from, stampOf(seq))
}

// spanAt is the index of the span that column x is in.
func (l *line) spanAt(x int) int {
	i := 0
	for l.spans[i].end <= x {
		i++
	}
	return i
}

func (l *line) stampAt(x int) stamp {
	if l.stamp == mixed {
		return l.spans[l.spanAt(x)].by
	}
	return l.stamp
}

// written notes that an event wrote columns [x, x+n).
func (l *line) written(x, n int, by stamp) {
	if l.stamp != by {
		l.writtenAlso(x, x+n, by)
	}
}

// writtenAlso is written for a row that another event wrote to before. Programs
// mostly repaint a row from left to right: that comes first.
func (l *line) writtenAlso(x, to int, by stamp) {
	switch {
	case l.stamp == 0 || to-x == l.cols():
		l.stamp = by
		return
	case l.stamp != mixed && x == 0:
		l.spans = append(l.spans[:0], span{to, by}, span{l.cols(), l.stamp})
		l.stamp = mixed
		return
	}
	l.mix()
	i := l.spanAt(x)
	if i == 0 || l.spans[i-1].by != by || l.spans[i-1].end != x {
		l.setSpan(i, x, to, by)
		return
	}
	switch end := l.spans[i].end; { // more of what was just written
	case to < end:
		l.spans[i-1].end = to
	case to == end && i+1 == len(l.spans): // the rest of the row
		l.spans = l.spans[:i]
		if l.spans[i-1].end = to; i == 1 {
			l.stamp = by
		}
	default:
		l.setSpan(i, x, to, by)
	}
}

// setSpan gives columns [x, to) a stamp; x is in span i.
func (l *line) setSpan(i, x, to int, by stamp) {
	begin := 0
	if i > 0 {
		begin = l.spans[i-1].end
	}
	j := i
	for l.spans[j].end < to {
		j++
	}
	end, after := l.spans[j].end, l.spans[j].by
	var parts [3]span
	n := 0
	if begin < x && l.spans[i].by != by {
		parts[n] = span{x, l.spans[i].by}
		n++
	}
	parts[n] = span{to, by}
	n++
	if to < end && after != by {
		parts[n] = span{end, after}
		n++
	} else {
		parts[n-1].end = end
		if to == end && j+1 < len(l.spans) && l.spans[j+1].by == by {
			j++
			parts[n-1].end = l.spans[j].end
		}
	}
	if i > 0 && parts[0].by == l.spans[i-1].by {
		i--
	}
	l.spans = slices.Replace(l.spans, i, j+1, parts[:n]...)
	if len(l.spans) == 1 {
		l.stamp = l.spans[0].by
	}
}

// mix makes the row one of spans.
func (l *line) mix() {
	if l.stamp != mixed {
		l.spans = append(l.spans[:0], span{l.cols(), l.stamp})
		l.stamp = mixed
	}
}

// appendSpans appends the row's spans in [from, to), moved right by so much.
func (l *line) appendSpans(dst []span, from, to, by int) []span {
	if from >= to {
		return dst
	}
	add := func(end int, s stamp) {
		if n := len(dst); n > 0 && dst[n-1].by == s {
			dst[n-1].end = end + by
			return
		}
		dst = append(dst, span{end + by, s})
	}
	if l.stamp != mixed {
		add(to, l.stamp)
		return dst
	}
	for _, s := range l.spans[l.spanAt(from):] {
		add(min(s.end, to), s.by)
		if s.end >= to {
			break
		}
	}
	return dst
}

// moveStamps gives columns [x, x+n) the stamps of src from column from on. src
// may be l itself.
func (l *line) moveStamps(x int, src *line, from, n int) {
	if l.stamp == src.stamp && l.stamp != mixed || n <= 0 {
		return
	}
	var room [16]span
	spans := l.appendSpans(room[:0], 0, x, 0)
	spans = src.appendSpans(spans, from, from+n, x-from)
	spans = l.appendSpans(spans, x+n, l.cols(), 0)
	l.setSpans(spans)
}

// setSpans makes a copy of spans the row's own.
func (l *line) setSpans(spans []span) {
	if len(spans) == 1 {
		l.stamp = spans[0].by
		return
	}
	l.stamp, l.spans = mixed, append(l.spans[:0], spans...)
}

// closeSpans extends the last span, or an empty list, to the end of the row.
func (l *line) closeSpans() {
	if n := len(l.spans); n > 1 {
		l.spans[n-1].end = l.cols()
	} else if l.stamp = 0; n == 1 {
		l.stamp = l.spans[0].by
	}
}

// endStamps extends the stamp of the column before x over the blanks from x on,
// which need none: most rows have one stamp again then.
func (l *line) endStamps(x int) {
	i := l.spanAt(x - 1)
	l.spans = l.spans[:i+1]
	l.closeSpans()
}

// sameStamp returns the end of the columns from x on, before to, with x's stamp.
func (l *line) sameStamp(x, to int) int {
	if l.stamp != mixed {
		return to
	}
	return min(to, l.spans[l.spanAt(x)].end)
}

// setStamps stamps the row from its first column on.
func (l *line) setStamps(stamps []stamp) {
	l.stamp, l.spans = mixed, l.spans[:0]
	for x, s := range stamps {
		if n := len(l.spans); n > 0 && l.spans[n-1].by == s {
			l.spans[n-1].end = x + 1
		} else {
			l.spans = append(l.spans, span{x + 1, s})
		}
	}
	l.closeSpans()
}

// appendStamps appends the stamps of the first n columns.
func (l *line) appendStamps(dst []stamp, n int) []stamp {
	for x := 0; x < n; {
		end, by := l.sameStamp(x, n), l.stampAt(x)
		for ; x < end; x++ {
			dst = append(dst, by)
		}
	}
	return dst
}

// appendPackedStamps appends the stamps of the cells of a packed row: how many
// cells, which stamp.
func (l *line) appendPackedStamps(dst []byte, cells int) []byte {
	for x := 0; x < cells; {
		end := l.sameStamp(x, cells)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(end-x)), uint64(l.stampAt(x)))
		x = end
	}
	return dst
}
