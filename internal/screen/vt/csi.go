package vt

// dispatchCSI executes a control sequence.
func (t *Terminal) dispatchCSI(final byte) {
	ps := &t.parser
	if ps.prefix == 0 && ps.mid[0] == 0 {
		t.plainCSI(final)
		return
	}
	t.forgetLast()
	switch {
	case ps.mid[1] != 0:
	case ps.mid[0] != 0 && ps.prefix == 0:
		t.midCSI(ps.mid[0], final)
	case ps.mid[0] == '$' && ps.prefix == '?' && final == 'p':
		t.reportMode(ps.params.get(0, 0), true)
	case ps.mid[0] != 0:
	case ps.prefix == '?':
		t.questionCSI(final)
	case ps.prefix == '>':
		t.greaterCSI(final)
	case ps.prefix == '=':
		t.equalsCSI(final)
	case ps.prefix == '<' && final == 'u':
		t.screen.kitty.pop(ps.params.get(0, 1))
	}
}

// plainCSI is the sequences without prefix and intermediates.
func (t *Terminal) plainCSI(final byte) {
	p := &t.parser.params
	switch final {
	case 'm':
		t.sgr()
		return
	case 'b':
		t.repeat(p.get(0, 1))
		return
	}
	t.forgetLast()
	switch final {
	case 'H', 'f':
		t.address(p.get(1, 1)-1, p.get(0, 1)-1)
	case 'K':
		t.eraseInLine(p.get(0, 0), false)
	case 'J':
		t.eraseInDisplay(p.get(0, 0), false)
	case 'A':
		t.up(p.get(0, 1))
	case 'B':
		t.down(p.get(0, 1))
	case 'C':
		t.right(p.get(0, 1))
	case 'D':
		t.left(p.get(0, 1))
	case 'E':
		t.down(p.get(0, 1))
		t.carriageReturn()
	case 'F':
		t.up(p.get(0, 1))
		t.carriageReturn()
	case 'G', '`':
		t.column(p.get(0, 1) - 1)
	case 'd':
		t.line(p.get(0, 1) - 1)
	case 'a', 'e': // HPR, VPR: held by the margins only under origin mode
		x, y := t.cur.x, t.cur.y
		if t.cur.origin {
			x, y = x-t.margins.left, y-t.margins.top
		}
		if final == 'a' {
			t.column(x + p.get(0, 1))
		} else {
			t.line(y + p.get(0, 1))
		}
	case '@':
		t.insertChars(p.get(0, 1))
	case 'P':
		t.deleteChars(p.get(0, 1))
	case 'X':
		t.eraseChars(p.get(0, 1))
	case 'L':
		t.insertLines(p.get(0, 1))
	case 'M':
		t.deleteLines(p.get(0, 1))
	case 'S':
		t.scrollUp(p.get(0, 1))
	case 'T', '^':
		if p.n <= 1 { // with more it is xterm's highlight tracking
			t.scrollDown(p.get(0, 1))
		}
	case 'I':
		t.tab(p.get(0, 1))
	case 'Z':
		t.backTab(p.get(0, 1))
	case 'g':
		switch p.get(0, 0) {
		case 0:
			t.tabs.clear(t.cur.x)
		case 3:
			t.tabs = tabStops{}
		}
	case 'h', 'l':
		for i := range p.n {
			t.setANSIMode(int(p.v[i]), final == 'h')
		}
	case 'r':
		t.setTopBottom()
	case 's':
		if t.modes.has(modeMargins) {
			t.setLeftRight()
		} else if p.none() { // with numbers it is DECSLRM, which is off
			t.saveCursor()
		}
	case 'u':
		if p.none() {
			t.restoreCursor()
		}
	case 'c', 'n', 't', 'x':
		t.report(final)
	}
}

// column moves within the row (CHA, HPA), line within the column (VPA).
func (t *Terminal) column(x int) {
	if t.cur.origin {
		x = min(t.margins.left+x, t.margins.right)
	}
	t.moveTo(x, t.cur.y)
}

func (t *Terminal) line(y int) {
	if t.cur.origin {
		y = min(t.margins.top+y, t.margins.bottom)
	}
	t.moveTo(t.cur.x, y)
}

// setTopBottom is DECSTBM. A region of less than two rows is refused.
func (t *Terminal) setTopBottom() {
	p := &t.parser.params
	top, bottom := p.get(0, 1)-1, min(p.get(1, t.rows), t.rows)-1
	if top < bottom {
		t.margins.top, t.margins.bottom = top, bottom
		t.home()
	}
}

// setLeftRight is DECSLRM.
func (t *Terminal) setLeftRight() {
	p := &t.parser.params
	left, right := p.get(0, 1)-1, min(p.get(1, t.cols), t.cols)-1
	if left < right {
		t.margins.left, t.margins.right = left, right
		t.home()
	}
}

// midCSI is the sequences with one intermediate.
func (t *Terminal) midCSI(mid, final byte) {
	p := &t.parser.params
	switch string([]byte{mid, final}) {
	case " @": // SL
		t.deleteColumns(t.margins.left, p.get(0, 1))
	case " A": // SR
		t.insertColumns(t.margins.left, p.get(0, 1))
	case "'}": // DECIC
		t.insertColumns(t.cur.x, p.get(0, 1))
	case "'~": // DECDC
		t.deleteColumns(t.cur.x, p.get(0, 1))
	case " q": // DECSCUSR
		t.setCursorStyle(p.get(0, 0))
	case `"q`: // DECSCA
		if n := p.get(0, 0); n <= 2 {
			t.cur.pen.protected = n == 1
			t.cur.pen.match = penStale
			t.updateQuick()
		}
	case "!p":
		t.softReset()
	case "$p":
		t.reportMode(p.get(0, 0), false)
	case "#{", "#p": // XTPUSHSGR and its older name
		t.pushSGR()
	case "#}", "#q": // XTPOPSGR and its older name
		t.popSGR()
	case "*y": // DECRQCRA
		t.reportChecksum()
	case "$x", "$z", "${", "$v":
		t.rectangle(final)
	}
}

// setCursorStyle is DECSCUSR: odd numbers blink.
func (t *Terminal) setCursorStyle(n int) {
	if n > 6 {
		return
	}
	t.modes.set(modeCursorBlink, n%2 == 1)
	t.modes.cursorShape = CursorBlock
	if n >= 5 {
		t.modes.cursorShape = CursorBar
	} else if n >= 3 {
		t.modes.cursorShape = CursorUnderline
	}
}

// questionCSI is the sequences with the prefix '?'.
func (t *Terminal) questionCSI(final byte) {
	p := &t.parser.params
	switch final {
	case 'h', 'l':
		for i := range p.n {
			t.setDECMode(int(p.v[i]), final == 'h')
		}
	case 's':
		for i := range p.n {
			t.saveMode(int(p.v[i]))
		}
	case 'r':
		for i := range p.n {
			t.restoreMode(int(p.v[i]))
		}
	case 'J':
		t.eraseInDisplay(p.get(0, 0), true)
	case 'K':
		t.eraseInLine(p.get(0, 0), true)
	case 'W': // DECST8C
		if p.get(0, 0) == 5 {
			t.tabs.reset()
		}
	case 'n':
		t.reportDEC(p.get(0, 0))
	case 'S':
		t.reportGraphics()
	case 'm':
		if p.get(0, 0) == 4 {
			t.replyf("\x1b[>4;%dm", t.modes.modifyOther)
		}
	case 'u':
		t.replyf("\x1b[?%du", t.screen.kitty.flags)
	}
}

// greaterCSI is the sequences with the prefix '>'.
func (t *Terminal) greaterCSI(final byte) {
	p := &t.parser.params
	switch final {
	case 'c':
		if p.get(0, 0) == 0 {
			t.reply(secondaryAttributes)
		}
	case 'q':
		if p.get(0, 0) == 0 {
			t.replyf("\x1bP>|den(%s)\x1b\\", t.cfg.Version)
		}
	case 'm', 'n': // XTMODKEYS; only resource 4 is kept
		if p.n == 0 || p.get(0, 0) == 4 {
			t.modes.modifyOther = 0
			if n := p.get(1, 0); final == 'm' && n <= 2 {
				t.modes.modifyOther = uint8(n)
			}
		}
	case 'u':
		t.screen.kitty.push(p.get(0, 0))
	}
}

// equalsCSI is the sequences with the prefix '='.
func (t *Terminal) equalsCSI(final byte) {
	p := &t.parser.params
	switch final {
	case 'c':
		if p.get(0, 0) == 0 {
			t.reply(tertiaryAttributes)
		}
	case 'u':
		t.screen.kitty.set(p.get(0, 0), p.get(1, 1))
	}
}

const (
	maxParams = 32
	maxParam  = 65535
)

// params is the numbers of a control sequence. A missing number is 0.
type params struct {
	v     [maxParams]int32
	n     int    // numbers seen, with the one being read
	colon uint32 // bit i: number i follows a colon
	extra bool   // there were more than fit; they are dropped
}

func (p *params) reset() { p.n, p.colon, p.extra = 0, 0, false }

func (p *params) digit(d byte) {
	if p.extra {
		return
	}
	if p.n == 0 {
		p.v[0], p.n = 0, 1
	}
	i := p.n - 1
	p.v[i] = min(p.v[i]*10+int32(d-'0'), maxParam)
}

func (p *params) separator(b byte) {
	if p.n == 0 {
		p.v[0], p.n = 0, 1
	}
	if p.n == maxParams {
		p.extra = true
		return
	}
	p.v[p.n] = 0
	if b == ':' {
		p.colon |= 1 << p.n
	}
	p.n++
}

// joined reports whether number i exists and is a subparameter.
func (p *params) joined(i int) bool { return i < p.n && p.colon>>i&1 != 0 }

// none reports whether no number was given.
func (p *params) none() bool { return p.n == 0 }

// get returns number i, or def where it is missing or 0.
func (p *params) get(i, def int) int {
	if i >= p.n || p.v[i] == 0 {
		return def
	}
	return int(p.v[i])
}
