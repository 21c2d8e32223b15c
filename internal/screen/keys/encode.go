package keys

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/screen/vt"
)

const (
	csi = "\x1b["
	ss3 = "\x1bO"
)

// Encode is what a terminal in modes m sends for the chord, repetitions
// included. A chord that the modes cannot express is fault.Unsupported.
func (c Chord) Encode(m vt.Modes) ([]byte, error) {
	one, err := c.encodeOnce(m)
	if err != nil {
		return nil, err
	}
	return bytes.Repeat([]byte(one), c.Times()), nil
}

func (c Chord) encodeOnce(m vt.Modes) (string, error) {
	switch {
	case c.mouse != 0:
		return c.encodeMouse(m)
	case c.key == focusIn || c.key == focusOut:
		if !m.Focus {
			return "", fault.Errorf(fault.Unsupported, "%s: the program did not ask to be told of focus", c)
		}
		if c.key == focusIn {
			return csi + "I", nil
		}
		return csi + "O", nil
	case c.key == 0 && c.text == "":
		return "", fault.Errorf(fault.Internal, "the zero chord has no bytes")
	case m.KittyFlags&(kittyDisambiguate|kittyEvents|kittyAll) != 0:
		return c.encodeKitty(m)
	}
	if s, ok := c.encodeOther(m.ModifyOtherKeys); ok {
		return s, nil
	}
	return c.encodeLegacy(m)
}

// encodeLegacy is xterm with its defaults.
func (c Chord) encodeLegacy(m vt.Modes) (string, error) {
	if c.key == 0 {
		return c.legacyCharacter()
	}
	c = c.functionAlias()
	r := table.Get()[c.key]
	switch {
	case r.c0 != "":
		return c.legacyC0(m)
	case r.plain != "":
		return c.legacyKeypad(m)
	case r.final == 0:
		return "", c.unsupported("no such key is known to a terminal without the kitty keyboard protocol")
	case c.mods == 0 && (r.f1 || r.cursor && m.AppCursor):
		return ss3 + string(r.final), nil
	}
	return csiKey(r.number, r.final, c.mods), nil
}

// csiKey is CSI NUMBER ; MODIFIERS FINAL without what is at its default.
func csiKey(number int, final byte, m mods) string {
	var b []byte
	b = append(b, csi...)
	if m != 0 {
		b = strconv.AppendInt(b, int64(max(number, 1)), 10)
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(m)+1, 10)
	} else if number > 0 {
		b = strconv.AppendInt(b, int64(number), 10)
	}
	return string(append(b, final))
}

// functionAlias turns F13 and up into what terminfo says of them for xterm:
// the first twelve with Shift, then with Ctrl.
func (c Chord) functionAlias() Chord {
	n := c.key - f1() + 1
	switch {
	case n >= 13 && n <= 24:
		c.key, c.mods = c.key-12, c.mods|shift
	case n >= 25 && n <= 35:
		c.key, c.mods = c.key-24, c.mods|ctrl
	}
	return c
}

// f1 is where the function keys begin in the table.
func f1() key { return named.Get()["f1"].key }

func (c Chord) legacyC0(m vt.Modes) (string, error) {
	if c.mods&(super|hyper) != 0 {
		return "", c.unsupported("Super and Hyper need the kitty keyboard protocol, which the program did not turn on")
	}
	s := table.Get()[c.key].c0
	switch {
	case c.key == enter && m.NewLine:
		s = "\r\n"
	case c.key == tab && c.mods&shift != 0:
		s = csi + "Z"
	case c.key == backspace && (c.mods&ctrl != 0) != m.BackarrowKey:
		s = "\b"
	}
	return c.withAlt(s), nil
}

func (c Chord) legacyKeypad(m vt.Modes) (string, error) {
	r := table.Get()[c.key]
	if m.AppKeypad && c.mods == 0 {
		return ss3 + string(r.keypad), nil
	}
	if r.plain == "\r" {
		c.key = enter
		return c.legacyC0(m)
	}
	c.key, c.text = 0, r.plain
	c.mods &^= shift // Shift with a keypad's digit is the digit, not what Shift makes of the row above the letters.
	return c.legacyCharacter()
}

func (c Chord) legacyCharacter() (string, error) {
	if c.mods&(super|hyper) != 0 {
		return "", c.unsupported("Super and Hyper with a character need the kitty keyboard protocol, which the program did not turn on")
	}
	s := c.typed()
	if c.mods&ctrl != 0 {
		switch code, ok := control(s); {
		case ok:
			s = string([]byte{code})
		case len(s) > 1:
			return "", c.unsupported("Ctrl with this character needs modifyOtherKeys or the kitty keyboard protocol, which the program did not turn on")
		}
	}
	return c.withAlt(s), nil
}

// typed is the chord's character with its Shift.
func (c Chord) typed() string {
	if c.mods&shift != 0 {
		if s, ok := shifted(c.text); ok {
			return s
		}
	}
	return c.text
}

func (c Chord) withAlt(s string) string {
	if c.mods&alt != 0 {
		return "\x1b" + s
	}
	return s
}

func (c Chord) unsupported(why string) error {
	return fault.Errorf(fault.Unsupported, "%s cannot be sent: %s", c.Once(), why)
}

// control is what Ctrl makes of a character: xterm's table.
func control(s string) (byte, bool) {
	if len(s) != 1 {
		return 0, false
	}
	switch b := s[0]; {
	case b >= 'a' && b <= 'z', b >= '@' && b <= '_':
		return b & 0x1f, true
	case b == ' ', b == '2':
		return 0, true
	case b >= '3' && b <= '7':
		return b - '3' + 0x1b, true
	case b == '8', b == '?':
		return 0x7f, true
	case b == '/':
		return 0x1f, true
	case b == '~':
		return 0x1e, true
	}
	return 0, false
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Text is literal text as the keyboard would send it: a line end becomes the
// Enter key's carriage return. Everything else passes as it is.
func Text(s string) []byte {
	s = strings.ReplaceAll(s, "\r\n", "\r")
	return []byte(strings.ReplaceAll(s, "\n", "\r"))
}

// clean is a paste's content as a careful terminal sends it. Line ends become
// carriage returns. Of the control characters only the tab stays: an escape
// could end the paste early and type commands of its own, and so could its
// eight-bit form; Ctrl-C and Ctrl-D act even where pastes are not marked.
func clean(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(pasteBegin)+len(pasteEnd))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case ' ' <= r && r < 0x7f: // most of it, in one piece
			for size < len(text) && ' ' <= text[size] && text[size] < 0x7f {
				size++
			}
			out = append(out, text[:size]...)
		case r == '\r' && bytes.HasPrefix(text, []byte("\r\n")):
			size = 2
			out = append(out, '\r')
		case r == '\n', r == '\r':
			out = append(out, '\r')
		case r == '\t':
			out = append(out, '\t')
		case r < 0x20, r >= 0x7f && r <= 0x9f:
		case r == utf8.RuneError && size == 1 && text[0] <= 0x9f: // A bare C1 byte.
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// Paste is text as a terminal in modes m pastes it: between marks where the
// program asked for them, and with nothing in it that could end the paste.
func Paste(text []byte, m vt.Modes) []byte {
	out := clean(text)
	if !m.BracketedPaste {
		return out
	}
	return append(append([]byte(pasteBegin), out...), pasteEnd...)
}
