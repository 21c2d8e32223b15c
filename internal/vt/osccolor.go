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
	c, ok := namedColors[strings.ToLower(s)]
	return c, ok
}

var namedColors = map[string]RGB{
	"black": {0, 0, 0}, "white": {255, 255, 255}, "red": {255, 0, 0}, "green": {0, 255, 0},
	"blue": {0, 0, 255}, "yellow": {255, 255, 0}, "cyan": {0, 255, 255}, "magenta": {255, 0, 255},
	"gray": {190, 190, 190}, "grey": {190, 190, 190}, "orange": {255, 165, 0}, "brown": {165, 42, 42},
}

func (c RGB) spec() string {
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", c.R, c.R, c.G, c.G, c.B, c.B)
}

// paletteCommand is OSC 4: pairs of an index and a colour or "?".
func (t *Terminal) paletteCommand(rest []byte, terminator string) {
	fields := bytes.Split(rest, []byte{';'})
	for i := 0; i+1 < len(fields); i += 2 {
		n, err := strconv.ParseUint(string(fields[i]), 10, 8)
		if err != nil {
			continue
		}
		if spec := string(fields[i+1]); spec == "?" {
			t.replyf("\x1b]4;%d;%s%s", n, t.colors.entry(uint8(n)).spec(), terminator)
		} else if c, ok := parseColor(spec); ok {
			t.colors.setEntry(uint8(n), c)
		}
	}
}

// resetPalette is OSC 104: all entries, or those named.
func (t *Terminal) resetPalette(rest []byte) {
	if len(rest) == 0 {
		t.colors.palette = nil
		return
	}
	for f := range bytes.SplitSeq(rest, []byte{';'}) {
		if n, err := strconv.ParseUint(string(f), 10, 8); err == nil {
			delete(t.colors.palette, uint8(n))
		}
	}
}

// dynamicColors is OSC 10 to 12. More than one colour set the next ones in turn.
func (t *Terminal) dynamicColors(n int, rest []byte, terminator string) {
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
