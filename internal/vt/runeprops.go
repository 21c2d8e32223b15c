package vt

//go:generate go -C testdata/runetable run .

// props says how wide a rune is and what it can join.
type props uint8

const (
	propWidth props = 3 // mask: 0, 1 or 2 cells

	classMask     props = 3 << 2
	classPict     props = 1 << 2 // Extended_Pictographic: the parts of a ZWJ emoji
	classRegional props = 2 << 2 // half a flag
	classModifier props = 3 << 2 // skin tone
)

func propsOf(r rune) props {
	i := int(r >> propBlockBits)
	if i >= len(propIndex) {
		i = len(propIndex) - 1
	}
	return props(propData[int(propIndex[i])<<propBlockBits|int(r)&(1<<propBlockBits-1)])
}

func (p props) width() int { return int(p & propWidth) }

const (
	zeroWidthJoiner = '\u200D'
	emojiSelector   = '\uFE0F' // VS16
)

// takesEmojiSelector reports whether r becomes two cells wide under VS16: the
// narrow pictographs and the keycap bases.
func takesEmojiSelector(r rune) bool {
	if r >= '0' && r <= '9' || r == '#' || r == '*' {
		return true
	}
	p := propsOf(r)
	return p&classMask == classPict && p.width() == 1
}
