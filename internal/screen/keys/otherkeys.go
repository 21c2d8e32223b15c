package keys

import (
	"strconv"
	"unicode/utf8"
)

// encodeOther is xterm's modifyOtherKeys: CSI 27 ; MODIFIERS ; CODE ~ for
// chords of ordinary keys. Level 1 leaves alone what has a well-known byte,
// level 2 only what types text. It reports false for what stays as it was.
func (c Chord) encodeOther(level int) (string, bool) {
	if level < 1 || c.mods == 0 {
		return "", false
	}
	code, ok := c.otherCode()
	if !ok {
		return "", false
	}
	known := c.mods == shift && c.key == 0 && c.text != " " // It types text.
	switch {
	case c.key == tab:
		known = c.mods == shift // CSI Z
	case c.key == backspace:
		known = level == 1 || c.mods == ctrl
	case level == 1:
		known = known || c.mods == shift && c.text == " " || c.mods&(ctrl|super|hyper) == 0 && c.mods&alt != 0
		if _, has := control(c.typed()); has && c.key == 0 && c.mods&ctrl != 0 {
			known = c.mods&(super|hyper) == 0
		}
	}
	if known {
		return "", false
	}
	return csi + "27;" + strconv.Itoa(int(c.mods)+1) + ";" + strconv.Itoa(code) + "~", true
}

// otherCode is the character that xterm names the key by.
func (c Chord) otherCode() (int, bool) {
	switch c.key {
	case 0:
		text := c.typed()
		r, size := utf8.DecodeRuneInString(text)
		return int(r), size == len(text)
	case enter, tab, escape, backspace:
		return table()[c.key].kitty, true
	}
	return 0, false
}
