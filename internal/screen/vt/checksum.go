package vt

// reportChecksum answers DECRQCRA: the checksum of the characters and
// attributes in a rectangle, as a VT420 computes it. Blanks that were never
// written do not count.
func (t *Terminal) reportChecksum() {
	sum := uint16(0)
	if top, left, bottom, right, ok := t.area(2); ok {
		for y := top; y <= bottom; y++ {
			for _, c := range t.row(y).cells[left : right+1] {
				sum += t.cellChecksum(c)
			}
		}
	}
	t.replyf("\x1bP%d!~%04X\x1b\\", t.parser.params.get(0, 0), -sum)
}

func (t *Terminal) cellChecksum(c cell) uint16 {
	if c.blank() || c&cellSpacer != 0 || c.tile() {
		return 0
	}
	sum := uint16(0)
	for _, r := range t.text(c) {
		sum += uint16(r)
	}
	s := t.styles.list[c.style()]
	if c&cellProtected != 0 {
		sum += 0x04
	}
	if s.attrs&Hidden != 0 {
		sum += 0x08
	}
	if s.underline != UnderlineNone {
		sum += 0x10
	}
	if s.attrs&Inverse != 0 {
		sum += 0x20
	}
	if s.attrs&Blink != 0 {
		sum += 0x40
	}
	if s.attrs&Bold != 0 {
		sum += 0x80
	}
	return sum
}
