package vt

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
