package vt

// modeSet is a set of the modes that are on or off.
type modeSet uint64

const (
	modeInsert  modeSet = 1 << iota // IRM
	modeNewLine                     // LNM
	modeAppCursor
	modeReverseVideo
	modeAutoWrap
	modeCursorBlink
	modeCursorVisible
	modeReverseWrap
	modeAppKeypad
	modeBackarrow
	modeMargins // DECLRMM
	modeFocus
	modeAltScroll
	modeBracketedPaste
	modeSync
	modeColumnSwitch // 40
	mode132          // DECCOLM: remembered, never acted upon
	modeSmoothScroll
	modeAutoRepeat
	modeMetaSendsEscape
	modeDeleteSendsDEL
	modeClusters     // 2027: characters of several runes share a cell
	modeReportScheme // 2031: report a change of the colour scheme
	modeReportSize   // 2048: report a resize in band
	modeSixelDisplay // DECSDM, 80: an image is drawn from the first column and row on, without scrolling
	modeSixelRight   // 8452: the cursor is left to the right of an image
)

// MouseMode is the set of mouse events that a program asked for.
type MouseMode uint8

const (
	MouseNone   MouseMode = 0
	MouseX10    MouseMode = 1 // presses (9)
	MouseNormal MouseMode = 2 // presses and releases (1000)
	MouseButton MouseMode = 3 // and drags (1002)
	MouseAny    MouseMode = 4 // and all motion (1003)
)

// MouseEncoding is the encoding of mouse events.
type MouseEncoding uint8

const (
	MouseDefault   MouseEncoding = 0
	MouseUTF8      MouseEncoding = 1 // 1005
	MouseSGR       MouseEncoding = 2 // 1006
	MouseURxvt     MouseEncoding = 3 // 1015
	MouseSGRPixels MouseEncoding = 4 // 1016
)

// modes is all switchable behaviour but origin mode, which DECSC saves with
// the cursor.
type modes struct {
	bits          modeSet
	mouse         MouseMode
	mouseEncoding MouseEncoding
	modifyOther   uint8 // XTMODKEYS resource 4
	cursorShape   CursorShape
}

func newModes() modes {
	return modes{bits: modeAutoWrap | modeCursorVisible | modeAutoRepeat}
}

func (m *modes) has(b modeSet) bool { return m.bits&b != 0 }

func (m *modes) set(b modeSet, on bool) {
	if on {
		m.bits |= b
	} else {
		m.bits &^= b
	}
}

// Modes are the modes that matter to key encoders, painters and observers.
type Modes struct {
	AltScreen       bool
	AppCursor       bool
	AppKeypad       bool
	BracketedPaste  bool
	NewLine         bool // LNM
	Focus           bool
	Sync            bool // synchronised output: a frame is being drawn
	ReverseVideo    bool
	AutoWrap        bool
	ReverseWrap     bool
	Insert          bool
	Origin          bool
	BackarrowKey    bool
	AltScroll       bool
	Mouse           MouseMode
	MouseEncoding   MouseEncoding
	KittyFlags      int
	ModifyOtherKeys int
}

// Modes returns the current modes.
func (t *Terminal) Modes() Modes {
	m := &t.modes
	return Modes{
		AltScreen:       t.altActive(),
		AppCursor:       m.has(modeAppCursor),
		AppKeypad:       m.has(modeAppKeypad),
		BracketedPaste:  m.has(modeBracketedPaste),
		NewLine:         m.has(modeNewLine),
		Focus:           m.has(modeFocus),
		Sync:            m.has(modeSync),
		ReverseVideo:    m.has(modeReverseVideo),
		AutoWrap:        m.has(modeAutoWrap),
		ReverseWrap:     m.has(modeReverseWrap),
		Insert:          m.has(modeInsert),
		Origin:          t.cur.origin,
		BackarrowKey:    m.has(modeBackarrow),
		AltScroll:       m.has(modeAltScroll),
		Mouse:           m.mouse,
		MouseEncoding:   m.mouseEncoding,
		KittyFlags:      int(t.screen.kitty.flags),
		ModifyOtherKeys: int(m.modifyOther),
	}
}

// maxKitty bounds the stack of keyboard flags; the oldest entry is dropped.
const maxKitty = 16

// kittyStack is the kitty keyboard protocol's state of one screen.
type kittyStack struct {
	flags uint8   // in force
	stack []uint8 // pushed below it; or nil
}

const kittyKnown = 1<<5 - 1

func (k *kittyStack) push(flags int) {
	// A new slice each time: saved copies must not see the change.
	old := k.stack
	if len(old) >= maxKitty {
		old = old[len(old)-maxKitty+1:]
	}
	k.stack = append(append([]uint8(nil), old...), k.flags)
	k.flags = uint8(flags & kittyKnown)
}

func (k *kittyStack) pop(n int) {
	for ; n > 0; n-- {
		if len(k.stack) == 0 {
			k.flags = 0
			return
		}
		k.flags = k.stack[len(k.stack)-1]
		k.stack = k.stack[:len(k.stack)-1]
	}
}

func (k *kittyStack) set(flags, how int) {
	f := uint8(flags & kittyKnown)
	switch how {
	case 1:
		k.flags = f
	case 2:
		k.flags |= f
	case 3:
		k.flags &^= f
	}
}
