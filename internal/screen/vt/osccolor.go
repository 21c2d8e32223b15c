package vt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// parseColor reads the forms of XParseColor that programs use: rgb:r/g/b with
// one to four digits each, #rgb, #rrggbb and longer, and a few names.
func parseColor(s string) (RGB, bool) {
	if body, ok := strings.CutPrefix(s, "rgb:"); ok {
		parts := strings.Split(body, "/")
		if len(parts) != 3 {
			return RGB{}, false
		}
		var v [3]uint8
		for i, p := range parts {
			n, err := strconv.ParseUint(p, 16, 16)
			if err != nil || len(p) == 0 || len(p) > 4 {
				return RGB{}, false
			}
			full := uint64(1)<<(4*len(p)) - 1
			v[i] = uint8((n*255 + full/2) / full)
		}
		return RGB{v[0], v[1], v[2]}, true
	}
	if body, ok := strings.CutPrefix(s, "#"); ok {
		n := len(body) / 3
		if len(body)%3 != 0 || n < 1 || n > 4 {
			return RGB{}, false
		}
		var v [3]uint8
		for i := range v {
			u, err := strconv.ParseUint(body[i*n:(i+1)*n], 16, 16)
			if err != nil {
				return RGB{}, false
			}
			// Short forms give the most significant bits.
			v[i] = uint8(u << (16 - 4*n) >> 8)
		}
		return RGB{v[0], v[1], v[2]}, true
	}
	c, ok := namedColors()[strings.ToLower(s)]
	return c, ok
}

func namedColors() map[string]RGB {
	return map[string]RGB{
		"black": {0, 0, 0}, "white": {255, 255, 255}, "red": {255, 0, 0}, "green": {0, 255, 0},
		"blue": {0, 0, 255}, "yellow": {255, 255, 0}, "cyan": {0, 255, 255}, "magenta": {255, 0, 255},
		"gray": {190, 190, 190}, "grey": {190, 190, 190}, "orange": {255, 165, 0}, "brown": {165, 42, 42},
	}
}

func (c RGB) spec() string {
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", c.R, c.R, c.G, c.G, c.B, c.B)
}

// paletteCommand is OSC 4.
func (t *Terminal) paletteCommand(rest []byte, terminator string) {
	eachColor(rest, func(n uint8, spec string) {
		if spec == "?" {
			t.replyf("\x1b]4;%d;%s%s", n, t.colors.entry(n).spec(), terminator)
		} else if c, ok := parseColor(spec); ok {
			t.colors.setEntry(n, c)
		}
	})
}

// specialColors is OSC 5: the colours of bold, underlined, blinking, inverse and
// italic text, from 0. They are kept and reported, and change nothing.
func (t *Terminal) specialColors(rest []byte, terminator string) {
	eachColor(rest, func(n uint8, spec string) {
		if n >= specialColors {
			return
		}
		if spec == "?" {
			t.replyf("\x1b]5;%d;%s%s", n, t.colors.specialEntry(n).spec(), terminator)
		} else if c, ok := parseColor(spec); ok {
			t.colors.setSpecial(n, c)
		}
	})
}

// eachColor calls take for each pair of an index and a colour or "?".
func eachColor(rest []byte, take func(n uint8, spec string)) {
	fields := bytes.Split(rest, []byte{';'})
	for i := 0; i+1 < len(fields); i += 2 {
		if n, err := strconv.ParseUint(string(fields[i]), 10, 8); err == nil {
			take(uint8(n), string(fields[i+1]))
		}
	}
}

// resetColors is OSC 104 and 105: all changed entries, or those named.
func resetColors(changed *map[uint8]RGB, rest []byte) {
	if len(rest) == 0 {
		*changed = nil
		return
	}
	for f := range bytes.SplitSeq(rest, []byte{';'}) {
		if n, err := strconv.ParseUint(string(f), 10, 8); err == nil {
			delete(*changed, uint8(n))
		}
	}
}

// dynamicColors is OSC 10 to 12, and 110 to 112, which reset the same colours.
// More than one colour set the next ones in turn.
func (t *Terminal) dynamicColors(n int, rest []byte, terminator string) {
	switch n {
	case 110:
		t.colors.fg = t.colors.defaultFg
		return
	case 111:
		t.colors.bg = t.colors.defaultBg
		return
	case 112:
		t.colors.cursor = t.colors.defaultCursor
		return
	}
	for f := range bytes.SplitSeq(rest, []byte{';'}) {
		var c *RGB
		switch n {
		case 10:
			c = &t.colors.fg
		case 11:
			c = &t.colors.bg
		case 12:
			c = &t.colors.cursor
		default:
			return
		}
		if string(f) == "?" {
			t.replyf("\x1b]%d;%s%s", n, c.spec(), terminator)
		} else if v, ok := parseColor(string(f)); ok {
			*c = v
		}
		n++
	}
}
