package vt

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// typed is a row of nothing but printable ASCII and blanks, as most rows are: a
// byte for each column, and the styles, which is nearly how rows are packed.
// While it is on it is the row, and printing and erasing are copies of bytes.
// The cells are drawn from it when somebody asks for them. What it has no form
// for turns it off, until the row is cleared.
type typed struct {
	on    bool
	ahead bool   // the cells do not show it yet
	inked int    // the cells from here on are empty
	text  []byte // up to the last column that is not empty; 0 is a blank. Its capacity has typedSlack
	runs  []run  // the styles, from column 0 on; neighbours differ
}

// run is columns of one style, up to the next run or the end of the text.
type run struct {
	begin int
	style uint32
}

// typedSlack is the capacity behind the row's end, so that whole words can be
// stored.
const typedSlack = 7

// retype makes a row typed, and empty: its cells from column inked on are.
func (l *line) retype(inked int) {
	t := &l.typed
	if t.text == nil {
		t.text = make([]byte, 0, l.cols()+typedSlack)
		t.runs = make([]run, 1, 4)
	}
	t.on, t.ahead, t.inked = true, inked > 0, inked
	t.text, t.runs = t.text[:0], t.runs[:1]
	t.runs[0].style = 0
}

// untype makes the cells the row.
func (l *line) untype() {
	l.typed.on = false
	if l.typed.ahead {
		l.draw()
	}
}

// draw makes the cells show what was typed.
func (l *line) draw() {
	t := &l.typed
	n := len(t.text)
	for i, r := range t.runs {
		end := t.runEnd(i)
		drawASCII(l.grid[r.begin:end], t.text[r.begin:end], cell(r.style)<<styleShift)
	}
	if n < t.inked {
		clear(l.grid[n:t.inked])
	}
	t.inked, t.ahead = n, false
}

// drawASCII puts text into as many cells.
func drawASCII(dst []cell, text []byte, bits cell) {
	for len(dst) >= 8 && len(text) >= 8 {
		d, s := (*[8]cell)(dst), (*[8]byte)(text)
		d[0] = bits | cell(s[0])
		d[1] = bits | cell(s[1])
		d[2] = bits | cell(s[2])
		d[3] = bits | cell(s[3])
		d[4] = bits | cell(s[4])
		d[5] = bits | cell(s[5])
		d[6] = bits | cell(s[6])
		d[7] = bits | cell(s[7])
		dst, text = dst[8:], text[8:]
	}
	for i, b := range text[:len(dst)] {
		dst[i] = bits | cell(b)
	}
}

// runEnd is where run i ends.
func (t *typed) runEnd(i int) int {
	if i+1 < len(t.runs) {
		return t.runs[i+1].begin
	}
	return len(t.text)
}

// runAt is the number of the run that column x is in.
func (t *typed) runAt(x int) int {
	i := len(t.runs) - 1
	for t.runs[i].begin > x {
		i--
	}
	return i
}

// at is the cell in column x.
func (t *typed) at(x int) cell {
	if x >= len(t.text) {
		return 0
	}
	return cell(t.runs[t.runAt(x)].style)<<styleShift | cell(t.text[x])
}

// textAt is the text of one style from column x on, before to, up to a blank.
func (t *typed) textAt(x, to int) []byte {
	if x >= len(t.text) {
		return nil
	}
	text := t.text[x:min(to, t.runEnd(t.runAt(x)))]
	if n := bytes.IndexByte(text, 0); n >= 0 {
		return text[:n]
	}
	return text
}

// textLen is the length of the text without blanks and spaces at the end.
func (t *typed) textLen() int {
	n := len(t.text)
	for n > 0 && (t.text[n-1] == 0 || t.text[n-1] == ' ') {
		n--
	}
	return n
}

// appendText appends the text without blanks and spaces at the end.
func (t *typed) appendText(dst []byte) []byte {
	begin := len(dst)
	dst = append(dst, t.text[:t.textLen()]...)
	for n := begin; ; dst[n] = ' ' {
		k := bytes.IndexByte(dst[n:], 0)
		if k < 0 {
			return dst
		}
		n += k
	}
}

// isStyled reports whether any column has a style.
func (t *typed) isStyled() bool { return len(t.runs) > 1 || t.runs[0].style != 0 }

// put puts text at column x.
func (t *typed) put(x int, text []byte, style uint32) {
	t.room(x, x+len(text))
	copy(t.text[x:], text)
	t.restyle(x, x+len(text), style)
}

// room makes the text at least so long that columns [x, end) are in it, with
// blanks before x. What is in the columns is undefined.
func (t *typed) room(x, end int) {
	t.ahead = true
	if x > len(t.text) {
		t.pad(x)
	}
	if end > len(t.text) {
		t.text = t.text[:end]
	}
}

// pad adds blanks up to column x.
func (t *typed) pad(x int) {
	n := len(t.text)
	t.text = t.text[:x]
	clear(t.text[n:])
	if n > 0 && t.runs[len(t.runs)-1].style != 0 {
		t.runs = append(t.runs, run{n, 0})
	}
}

// erase blanks columns [from, to).
func (t *typed) erase(from, to int, style uint32) {
	if style == 0 {
		to = min(to, len(t.text))
		if from >= to {
			return
		}
	}
	t.room(from, to)
	if style == 0 && to == len(t.text) {
		t.trim(from)
		return
	}
	clear(t.text[from:to])
	t.restyle(from, to, style)
}

// trim cuts the text at column n, and before it what is empty then.
func (t *typed) trim(n int) {
	for {
		i := len(t.runs) - 1
		begin := t.runs[i].begin
		if begin < n && t.runs[i].style != 0 {
			break
		}
		for n > begin && t.text[n-1] == 0 {
			n--
		}
		if n > begin {
			break
		}
		if i == 0 {
			t.runs[0].style = 0
			break
		}
		t.runs = t.runs[:i]
	}
	t.text = t.text[:n]
}

// restyle gives columns [x, end) of the text a style.
func (t *typed) restyle(x, end int, style uint32) {
	i := t.runAt(x)
	if t.runs[i].style == style && end <= t.runEnd(i) {
		return
	}
	j := i // the run of the last column
	for t.runEnd(j) < end {
		j++
	}
	var parts [3]run
	n, from, to := 0, i, j+1
	switch {
	case t.runs[i].begin == x && i > 0 && t.runs[i-1].style == style:
		from--
		x = t.runs[from].begin
	case t.runs[i].begin == x:
	case t.runs[i].style == style:
		x = t.runs[i].begin
	default:
		parts[0], n = t.runs[i], 1
	}
	parts[n] = run{x, style}
	n++
	switch {
	case end < t.runEnd(j) && t.runs[j].style != style:
		parts[n] = run{end, t.runs[j].style}
		n++
	case end == t.runEnd(j) && to < len(t.runs) && t.runs[to].style == style:
		to++
	}
	if n == to-from {
		copy(t.runs[from:to], parts[:n])
	} else {
		t.runs = slices.Replace(t.runs, from, to, parts[:n]...)
	}
}

// typeASCII prints the printable ASCII that p begins with into a typed row, and
// returns how much that is: 0 where it must be printed in another way. It reads
// the text once and stores it as it is, which is what makes plain output fast.
func (t *Terminal) typeASCII(p []byte) int {
	if !t.quick || len(p) < 8 {
		return 0
	}
	if t.cur.pending {
		t.wrap()
	}
	l, x := t.row(t.cur.y), t.cur.x
	typed := &l.typed
	if !typed.on {
		return 0
	}
	room := t.lineEndIn(l) - x
	if room <= 0 {
		return 0
	}
	old := len(typed.text)
	if x > old {
		typed.pad(x)
		old = x
	}
	n := 0
	for dst := typed.text[x : x+room+typedSlack]; n <= len(p)-8 && n <= len(dst)-8; {
		from, to := p[n:n+8:n+8], dst[n:n+8:n+8]
		v := binary.LittleEndian.Uint64(from)
		stop := unprintable(v)
		if left := room - n; left < 8 {
			stop |= 0x80 << (8 * left)
		}
		if stop != 0 {
			some := bits.TrailingZeros64(stop) &^ 7 & 63
			mask := uint64(1)<<some - 1
			binary.LittleEndian.PutUint64(to, v&mask|binary.LittleEndian.Uint64(to)&^mask)
			n += some / 8
			break
		}
		binary.LittleEndian.PutUint64(to, v)
		n += 8
	}
	end, style := x+n, t.penBits().style()
	if end > old {
		typed.text = typed.text[:end]
	}
	typed.ahead = true
	switch last := &typed.runs[len(typed.runs)-1]; {
	case x < old:
		typed.restyle(x, end, style)
	case last.style == style:
	case last.begin == x: // the row was empty
		last.style = style
	default:
		typed.runs = append(typed.runs, run{x, style})
	}
	l.written(x, n, t.stamp)
	t.last.content, t.last.join = cell(p[n-1]), joinPlain
	if n == room {
		if end == l.cols() {
			l.endChanged()
		}
		end--
		t.cur.pending = true
	}
	t.cur.x = end
	return n
}

// appendTyped is appendPacked for a row that is typed.
func (l *line) appendTyped(dst []byte) []byte {
	t := &l.typed
	flags := l.packFlags() | packBytes
	styled := t.isStyled()
	if styled {
		flags |= packStyled
	}
	dst = l.appendPackedHead(dst, flags, len(t.text))
	if styled {
		for i, r := range t.runs {
			dst = appendRun(dst, t.runEnd(i)-r.begin, r.style)
		}
	}
	return append(dst, t.text...)
}
