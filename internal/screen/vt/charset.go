package vt

// charset is a national or graphic set for the codes 0x20 to 0x7e, named by
// the final byte that designates it.
type charset byte

const (
	charsetASCII    charset = 'B'
	charsetUK       charset = 'A'
	charsetGraphics charset = '0'
)

// charsets is the state of ISO 2022 switching.
type charsets struct {
	g      [4]charset
	gl     uint8 // which of g printable codes mean
	single uint8 // 2 or 3 for one character after SS2 or SS3, else 0
}

func newCharsets() charsets {
	return charsets{g: [4]charset{charsetASCII, charsetASCII, charsetASCII, charsetASCII}}
}

// plain reports that ASCII bytes mean themselves.
func (c *charsets) plain() bool { return c.g[c.gl] == charsetASCII && c.single == 0 }

// designate sets one of G0 to G3. Sets that den does not draw are ASCII.
func (c *charsets) designate(n int, final byte) {
	switch charset(final) {
	case charsetGraphics, charsetUK:
		c.g[n] = charset(final)
	default:
		c.g[n] = charsetASCII
	}
}

var graphics = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// translate maps one printable ASCII byte, using up a single shift.
func (c *charsets) translate(b byte) rune {
	set := c.g[c.gl]
	if c.single != 0 {
		set, c.single = c.g[c.single], 0
	}
	switch {
	case set == charsetGraphics && b >= 0x60:
		return graphics[b-0x60]
	case set == charsetGraphics && b == '_':
		return ' '
	case set == charsetUK && b == '#':
		return '£'
	}
	return rune(b)
}
