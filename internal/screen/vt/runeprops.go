package vt

import _ "embed" // of the table

//go:generate go -C testdata/runetable run .

// The table that testdata/runetable writes: of each block of runes the number,
// and of each rune of the numbered blocks the props.
var (
	//go:embed runeprops.index
	propIndex string
	//go:embed runeprops.data
	propData string
)

const propBlockBits = 7 // as testdata/runetable has it

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

func (t *Terminal) propsOf(r rune) props { return propsIn(r, t.modes.has(modeClusters)) }

// propsIn is propsOf with mode 2027 or without. Without it no rune with a width
// of its own joins another, and half a flag is as wide as wcwidth says.
func propsIn(r rune, clusters bool) props {
	p := propsOf(r)
	if p&classMask != 0 && !clusters {
		if p&classMask == classRegional {
			return 1
		}
		return p &^ classMask
	}
	return p
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

// TextWidth returns how many cells a terminal of enough columns uses for s,
// with mode 2027 (characters of several runes share a cell) or without.
func TextWidth(s string, clusters bool) int {
	width, join := 0, joinNone
	var narrow rune // the rune just before, where it stands alone in one cell
	for _, r := range s {
		p := propsIn(r, clusters)
		class := p & classMask
		switch {
		case p.width() == 0:
			if clusters && r == emojiSelector && takesEmojiSelector(narrow) {
				width++
			}
			join, narrow = join.withMark(r), 0
			continue
		case join.takes(class):
			join, narrow = join.with(class), 0
			continue
		}
		width += p.width()
		join, narrow = startsJoin(class), 0
		if p.width() == 1 {
			narrow = r
		}
	}
	return width
}
