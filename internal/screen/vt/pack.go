package vt

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// A packed row is a byte of flags, the number of its cells up to the last that
// is not empty, with its size above, its stamp or stamps, its styles unless all are plain (how many cells, which style),
// and then what else is in the cells: a byte for each where all of it is ASCII,
// else four. The loops have few branches, as all that scrolls away is packed.
const (
	packWrapped = 1 << iota
	packStyled
	packBytes
	packPrompt // the lowest of the four bits of the prompt marks

	packMixed = packPrompt << 4 // a stamp for each cell

	packSize = 4096 // above it is the row's size: no row has so many cells
)

// pageBytes is the size of a page of packed rows, if none of its rows needs more.
const pageBytes = 16 << 10

// spareEntries bounds the pages that are kept to be used again: the rows that
// are dropped are now larger, now smaller than those that come.
const spareEntries = 2

// coldRows is packed rows, oldest first.
type coldRows struct {
	pages []*page
	first int // number of the oldest row
	n     int
	spare []*page
}

// page is packed rows one after the other. Their ends stand behind them, from
// the end of the capacity on downwards.
type page struct {
	first int // number of its first row
	n     int
	data  []byte
}

// endBytes is the size of a row's end.
const endBytes = 4

func (p *page) room() int { return cap(p.data) - len(p.data) - endBytes*p.n }

// endAt returns where the end of row i stands.
func (p *page) endAt(i int) []byte {
	all := p.data[:cap(p.data)]
	return all[len(all)-endBytes*(i+1):]
}

// row returns row i.
func (p *page) row(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = binary.LittleEndian.Uint32(p.endAt(i - 1))
	}
	return p.data[start:binary.LittleEndian.Uint32(p.endAt(i))]
}

func (c *coldRows) push(l *line) {
	var p *page
	if n := len(c.pages); n > 0 {
		p = c.pages[n-1]
	}
	if p == nil || p.room() < cellRoom*(1+l.cols()) && p.room() < l.packedRoom() {
		p = c.addPage(l.packedRoom())
	}
	p.data = l.appendPacked(p.data)
	binary.LittleEndian.PutUint32(p.endAt(p.n), uint32(len(p.data)))
	p.n++
	c.n++
}

// addPage adds a page with room for a row.
func (c *coldRows) addPage(room int) *page {
	var p *page
	if n := len(c.spare); n > 0 {
		p, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	if p == nil || cap(p.data) < room {
		p = &page{data: make([]byte, 0, max(pageBytes, room))}
	}
	p.first, p.n, p.data = c.first+c.n, 0, p.data[:0]
	c.pages = append(c.pages, p)
	return p
}

// size is the number of bytes of the rows, or somewhat more.
func (c *coldRows) size() int {
	n := 0
	for _, p := range c.pages {
		n += len(p.data)
	}
	return n
}

// drop forgets the oldest row.
func (c *coldRows) drop() {
	c.n--
	c.first++
	if p := c.pages[0]; c.first == p.first+p.n {
		copy(c.pages, c.pages[1:])
		c.pages = c.pages[:len(c.pages)-1]
		if len(c.spare) < spareEntries {
			c.spare = append(c.spare, p)
		}
	}
}

// cut forgets the rows from row n on.
func (c *coldRows) cut(n int) {
	c.n = n
	last := len(c.pages) - 1
	for last >= 0 && (n == 0 || c.pages[last].first >= c.first+n) {
		last--
	}
	if c.pages = c.pages[:last+1]; last >= 0 {
		p := c.pages[last]
		p.n = c.first + n - p.first
		p.data = p.data[:binary.LittleEndian.Uint32(p.endAt(p.n-1))]
	}
}

func (c *coldRows) at(i int) []byte {
	i += c.first
	from, to := 0, len(c.pages)
	for from+1 < to {
		if mid := (from + to) / 2; c.pages[mid].first <= i {
			from = mid
		} else {
			to = mid
		}
	}
	p := c.pages[from]
	return p.row(i - p.first)
}

// What the parts of a packed row take at most: the flags, the length, the stamp
// and the row's end, a run of a style, a span of a stamp, and all of a cell.
const (
	headRoom  = 1 + binary.MaxVarintLen16 + binary.MaxVarintLen64 + endBytes
	styleRoom = binary.MaxVarintLen16 + binary.MaxVarintLen32
	spanRoom  = binary.MaxVarintLen16 + binary.MaxVarintLen64
	cellRoom  = 4 + styleRoom + spanRoom
)

// packedRoom is what the row takes at most when it is packed.
func (l *line) packedRoom() int {
	n := headRoom
	if l.stamp == mixed {
		n += spanRoom * len(l.spans)
	}
	if l.typed.on {
		return n + len(l.typed.text) + styleRoom*len(l.typed.runs)
	}
	return n + (4+styleRoom)*l.cols()
}

func (l *line) appendPacked(dst []byte) []byte {
	if l.typed.on {
		return l.appendTyped(dst)
	}
	cells := l.grid[:l.drawnLen()]
	all := union(cells)
	flags := l.packFlags()
	if all.style() != 0 {
		flags |= packStyled
	}
	if uint32(all) < utf8.RuneSelf {
		flags |= packBytes
	}
	dst = l.appendPackedHead(dst, flags, len(cells))
	if flags&packStyled != 0 {
		start, style := 0, cells[0].style()
		for i, c := range cells {
			if c.style() != style {
				dst = appendRun(dst, i-start, style)
				start, style = i, c.style()
			}
		}
		dst = appendRun(dst, len(cells)-start, style)
	}
	at := len(dst)
	if flags&packBytes != 0 {
		dst = slices.Grow(dst, len(cells))[:at+len(cells)]
		lowBytes(dst[at:], cells)
		return dst
	}
	dst = slices.Grow(dst, 4*len(cells))[:at+4*len(cells)]
	lowWords(dst[at:], cells)
	return dst
}

// packFlags is the flags that do not depend on the cells.
func (l *line) packFlags() byte {
	flags := byte(l.prompt) * packPrompt
	if l.wrapped {
		flags |= packWrapped
	}
	if l.stamp == mixed {
		flags |= packMixed
	}
	return flags
}

func (l *line) appendPackedHead(dst []byte, flags byte, cells int) []byte {
	if n := cells + packSize*int(l.size); n < 0x80 {
		dst = append(dst, flags, byte(n))
	} else {
		dst = binary.AppendUvarint(append(dst, flags), uint64(n))
	}
	if l.stamp != mixed {
		return binary.AppendUvarint(dst, uint64(l.stamp))
	}
	return l.appendPackedStamps(dst, cells)
}

func appendRun(dst []byte, n int, style uint32) []byte {
	if n < 0x80 && style < 0x80 {
		return append(dst, byte(n), byte(style))
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(n)), uint64(style))
}

// union is the bits that any of the cells has.
func union(cells []cell) cell {
	var a, b, c, d cell
	for len(cells) >= 4 {
		p := (*[4]cell)(cells)
		a, b, c, d = a|p[0], b|p[1], c|p[2], d|p[3]
		cells = cells[4:]
	}
	for _, one := range cells {
		a |= one
	}
	return a | b | c | d
}

// lowBytes stores the lowest byte of each cell.
func lowBytes(dst []byte, cells []cell) {
	for len(cells) >= 4 && len(dst) >= 4 {
		d, c := (*[4]byte)(dst), (*[4]cell)(cells)
		d[0], d[1], d[2], d[3] = byte(c[0]), byte(c[1]), byte(c[2]), byte(c[3])
		dst, cells = dst[4:], cells[4:]
	}
	for i, c := range cells {
		dst[i] = byte(c)
	}
}

// lowWords stores the lower half of each cell.
func lowWords(dst []byte, cells []cell) {
	for len(cells) >= 8 && len(dst) >= 32 {
		d, c := (*[32]byte)(dst), (*[8]cell)(cells)
		binary.LittleEndian.PutUint64(d[0:], uint64(c[0]&0xffffffff|c[1]<<32))
		binary.LittleEndian.PutUint64(d[8:], uint64(c[2]&0xffffffff|c[3]<<32))
		binary.LittleEndian.PutUint64(d[16:], uint64(c[4]&0xffffffff|c[5]<<32))
		binary.LittleEndian.PutUint64(d[24:], uint64(c[6]&0xffffffff|c[7]<<32))
		dst, cells = dst[32:], cells[8:]
	}
	for i, c := range cells {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(c))
	}
}

// drawnLen is one past the last cell that is not empty.
func (l *line) drawnLen() int {
	c := l.grid
	n := len(c)
	for n >= 8 {
		if p := (*[8]cell)(c[n-8:]); p[0]|p[1]|p[2]|p[3]|p[4]|p[5]|p[6]|p[7] != 0 {
			break
		}
		n -= 8
	}
	for n > 0 && c[n-1] == 0 {
		n--
	}
	return n
}

// unpack makes l the row that was packed as p.
func (l *line) unpack(p []byte) {
	number := func() int {
		v, n := binary.Uvarint(p)
		p = p[n:]
		return int(v)
	}
	flags := p[0]
	p = p[1:]
	l.wrapped, l.prompt = flags&packWrapped != 0, PromptMarks(flags/packPrompt)&(CommandEnd<<1-1)
	l.moved.clear()
	n := number()
	l.size = LineSize(n / packSize)
	n %= packSize
	l.stamp = 0
	if flags&packMixed == 0 {
		l.stamp = stamp(number())
	} else {
		l.stamp, l.spans = mixed, l.spans[:0]
		for x := 0; x < n; {
			x += number()
			l.spans = append(l.spans, span{x, stamp(number())})
		}
		l.closeSpans()
	}
	if flags&packBytes != 0 {
		inked := l.cols()
		if l.typed.on {
			inked = l.typed.inked
		}
		l.retype(inked)
		t := &l.typed
		if flags&packStyled != 0 {
			t.runs = t.runs[:0]
			for x := 0; x < n; {
				width := number()
				t.runs = append(t.runs, run{x, uint32(number())})
				x += width
			}
		}
		t.text, t.ahead = append(t.text, p...), true
		return
	}
	l.typed.on, l.typed.ahead = false, false
	clear(l.grid)
	cells := l.grid[:n]
	if flags&packStyled != 0 {
		for x := 0; x < n; {
			width := number()
			fill(cells[x:x+width], cell(number())<<styleShift)
			x += width
		}
	}
	for i := range cells {
		cells[i] |= cell(binary.LittleEndian.Uint32(p[4*i:]))
	}
}
