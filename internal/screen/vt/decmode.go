package vt

// decModes lists the DEC private modes that den knows. The order is that of
// savedModes' bits.
var decModes = [...]struct {
	num uint16
	bit modeSet // 0 where setMode has a case of its own
}{
	{1, modeAppCursor}, {3, mode132}, {4, modeSmoothScroll}, {5, modeReverseVideo}, {6, 0}, {7, modeAutoWrap}, {8, modeAutoRepeat},
	{9, 0}, {12, modeCursorBlink}, {25, modeCursorVisible}, {40, modeColumnSwitch}, {45, modeReverseWrap},
	{47, 0}, {66, modeAppKeypad}, {67, modeBackarrow}, {69, modeMargins},
	{1000, 0}, {1002, 0}, {1003, 0}, {1004, modeFocus}, {1005, 0}, {1006, 0}, {1007, modeAltScroll}, {1015, 0}, {1016, 0},
	{1036, modeMetaSendsEscape}, {1037, modeDeleteSendsDEL},
	{1047, 0}, {1048, 0}, {1049, 0}, {2004, modeBracketedPaste}, {2026, modeSync}, {2027, modeClusters}, {2031, modeReportScheme}, {2048, modeReportSize},
	{80, modeSixelDisplay}, {8452, modeSixelRight},
}

// decModeIndex returns a mode's place in decModes, or -1.
func decModeIndex(num int) int {
	for i := range decModes {
		if int(decModes[i].num) == num {
			return i
		}
	}
	return -1
}

// setDECMode is DECSET and DECRST for one mode.
func (t *Terminal) setDECMode(num int, on bool) {
	switch num {
	case 6:
		t.cur.origin = on
		t.home()
	case 9:
		t.setMouse(MouseX10, on)
	case 1000:
		t.setMouse(MouseNormal, on)
	case 1002:
		t.setMouse(MouseButton, on)
	case 1003:
		t.setMouse(MouseAny, on)
	case 1005:
		t.setMouseEncoding(MouseUTF8, on)
	case 1006:
		t.setMouseEncoding(MouseSGR, on)
	case 1015:
		t.setMouseEncoding(MouseURxvt, on)
	case 1016:
		t.setMouseEncoding(MouseSGRPixels, on)
	case 47, 1047, 1049:
		t.switchScreen(num, on)
	case 1048:
		if on {
			t.saveCursor()
		} else {
			t.restoreCursor()
		}
	case 3:
		t.modes.set(mode132, on)
		if t.modes.has(modeColumnSwitch) {
			// The width is the owner's, but what else DECCOLM does is done.
			t.margins = margins{bottom: t.rows - 1, right: t.cols - 1}
			t.eraseInDisplay(2, false)
			t.home()
		}
	case 25: // the most frequent
		t.modes.set(modeCursorVisible, on)
	case 2048:
		t.modes.set(modeReportSize, on)
		if on {
			t.reportSize()
		}
	case 69:
		t.modes.set(modeMargins, on)
		t.margins.left, t.margins.right = 0, t.cols-1
		if on {
			t.singleRows()
		}
	default:
		if i := decModeIndex(num); i >= 0 {
			if decModes[i].bit == modeSync && on && !t.modes.has(modeSync) {
				t.outbox.frames++
			}
			t.modes.set(decModes[i].bit, on)
		}
	}
	if num == 7 || num == 1048 || num == 1049 {
		t.updateQuick()
	}
}

func (t *Terminal) setMouse(m MouseMode, on bool) {
	if on {
		t.modes.mouse = m
	} else {
		t.modes.mouse = MouseNone
	}
}

func (t *Terminal) setMouseEncoding(e MouseEncoding, on bool) {
	if on {
		t.modes.mouseEncoding = e
	} else if t.modes.mouseEncoding == e {
		t.modes.mouseEncoding = MouseDefault
	}
}

// switchScreen shows the alternate or the main screen. All three modes keep
// the cursor where it is on the way in; 1049 saves and restores it and enters
// a cleared screen; 47 alone keeps what the alternate screen showed.
func (t *Terminal) switchScreen(num int, on bool) {
	if on {
		if num == 1049 {
			t.saveCursor()
		}
		if t.alt.rows == nil {
			t.alt.rows = newLines(t.rows, t.cols)
		}
		t.screen = &t.alt
		if num == 1049 {
			t.eraseRows(0, t.rows, false)
		}
		return
	}
	if t.altActive() {
		t.screen = &t.main
		if num != 47 {
			t.alt.rows = nil // gives the memory back, too
		}
	}
	if num == 1049 {
		t.restoreCursor()
	}
}

// setANSIMode is SM and RM for one mode.
func (t *Terminal) setANSIMode(num int, on bool) {
	switch num {
	case 4:
		t.modes.set(modeInsert, on)
		t.updateQuick()
	case 20:
		t.modes.set(modeNewLine, on)
	}
}

// State of a mode in a DECRPM report.
const (
	modeUnknown = 0
	modeIsSet   = 1
	modeIsReset = 2
)

func reportedState(on bool) int {
	if on {
		return modeIsSet
	}
	return modeIsReset
}

func (t *Terminal) decModeState(num int) int {
	m := &t.modes
	switch num {
	case 6:
		return reportedState(t.cur.origin)
	case 9:
		return reportedState(m.mouse == MouseX10)
	case 1000:
		return reportedState(m.mouse == MouseNormal)
	case 1002:
		return reportedState(m.mouse == MouseButton)
	case 1003:
		return reportedState(m.mouse == MouseAny)
	case 1005:
		return reportedState(m.mouseEncoding == MouseUTF8)
	case 1006:
		return reportedState(m.mouseEncoding == MouseSGR)
	case 1015:
		return reportedState(m.mouseEncoding == MouseURxvt)
	case 1016:
		return reportedState(m.mouseEncoding == MouseSGRPixels)
	case 47, 1047, 1049:
		return reportedState(t.altActive())
	case 1048:
		return reportedState(t.screen.saved.set)
	}
	if i := decModeIndex(num); i >= 0 {
		return reportedState(m.has(decModes[i].bit))
	}
	return modeUnknown
}

func (t *Terminal) ansiModeState(num int) int {
	switch num {
	case 4:
		return reportedState(t.modes.has(modeInsert))
	case 20:
		return reportedState(t.modes.has(modeNewLine))
	}
	return modeUnknown
}

// savedModes is the state saved by XTSAVE: a bit for each index in decModes.
type savedModes struct{ known, on uint64 }

func (t *Terminal) saveMode(num int) {
	i := decModeIndex(num)
	if i < 0 {
		return
	}
	t.saved.known |= 1 << i
	t.saved.on &^= 1 << i
	if t.decModeState(num) == modeIsSet {
		t.saved.on |= 1 << i
	}
}

func (t *Terminal) restoreMode(num int) {
	if i := decModeIndex(num); i >= 0 && t.saved.known>>i&1 != 0 {
		t.setDECMode(num, t.saved.on>>i&1 != 0)
	}
}
