package vt

import "strings"

// control executes a C0 control.
func (t *Terminal) control(b byte) {
	t.forgetLast()
	switch b {
	case '\a':
		t.note(Note{Kind: NoteBell})
	case '\b':
		t.left(1)
	case '\t':
		t.horizontalTab()
	case '\n', '\v', '\f':
		t.cur.pending = false
		t.lineFeed()
		if b == '\n' && t.cur.x > 0 {
			t.indentRow()
		}
		if t.modes.has(modeNewLine) {
			t.carriageReturn() // after the index, which depends on the column
		}
	case '\r':
		t.carriageReturn()
	case 0x0e:
		t.cur.gl = 1
		t.updateQuick()
	case 0x0f:
		t.cur.gl = 0
		t.updateQuick()
	}
}

// dispatchEscape executes ESC, intermediates, final.
func (t *Terminal) dispatchEscape(b byte) {
	t.forgetLast()
	switch mid := t.parser.mid; mid[0] {
	case 0:
		t.escape(b)
	case '#':
		switch size := strings.IndexByte(sizeCodes, b); {
		case mid[1] != 0:
		case b == '8':
			t.alignmentTest()
		case size >= 0:
			t.setSize(LineSize(size))
		}
	case '(', ')', '*', '+':
		set := b
		if mid[1] != 0 {
			set = 0 // a two-byte name: a set that den does not draw
		}
		t.cur.designate(int(mid[0]-'('), set)
		t.updateQuick()
	}
}

func (t *Terminal) escape(b byte) {
	switch b {
	case '6': // DECBI
		if t.cur.x == t.margins.left && t.inMargins() {
			t.insertColumns(t.margins.left, 1)
		} else {
			t.cur.x, t.cur.pending = max(t.cur.x-1, 0), false
		}
	case '7':
		t.saveCursor()
	case '8':
		t.restoreCursor()
	case '9': // DECFI
		if t.cur.x == t.margins.right && t.inMargins() {
			t.deleteColumns(t.margins.left, 1)
		} else {
			t.cur.x, t.cur.pending = min(t.cur.x+1, t.cols-1), false
		}
	case '=':
		t.modes.set(modeAppKeypad, true)
	case '>':
		t.modes.set(modeAppKeypad, false)
	case 'D':
		t.cur.pending = false
		t.lineFeed()
	case 'E':
		t.cur.pending = false
		t.lineFeed()
		t.carriageReturn()
	case 'H':
		t.tabs.set(t.cur.x)
	case 'M':
		t.reverseIndex()
	case 'N', 'O':
		t.cur.single = 2 + b - 'N'
		t.updateQuick()
	case 'n', 'o':
		t.cur.gl = 2 + b - 'n'
		t.updateQuick()
	case 'Z':
		t.reply(deviceAttributes)
	case 'c':
		t.reset()
	}
}

// reset is RIS: the power-on state. The scrollback stays, as it is the
// reader's and not the program's.
func (t *Terminal) reset() {
	t.resetState()
	t.alt.rows = nil
	t.eraseRows(0, t.rows, false)
	t.anchor = anchor{}
	t.colors.reset()
	t.names.title, t.names.icon = "", ""
	t.names.titleStack, t.names.iconStack = nil, nil
	if m := t.images; m != nil {
		m.named, m.virtual, m.upload = nil, nil, nil
	}
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	m := &t.modes
	m.set(modeInsert|modeReverseWrap|modeAppCursor|modeAppKeypad|modeMargins, false)
	m.set(modeCursorVisible|modeAutoWrap, true)
	m.modifyOther = 0
	t.margins = margins{bottom: t.rows - 1, right: t.cols - 1}
	t.cur.origin = false
	t.cur.pen = pen{}
	t.cur.charsets = newCharsets()
	t.screen.saved = savedCursor{}
	t.screen.kitty = kittyStack{}
	t.updateQuick()
}
