package vt

// tabStops is a bit for each column that has a stop. It does not depend on
// the width, so resizing keeps the stops.
type tabStops [(MaxCols + 63) / 64]uint64

func (s *tabStops) reset() {
	for i := range s {
		s[i] = 0x0101010101010101 // every eighth column
	}
}

func (s *tabStops) set(x int)      { s[x/64] |= 1 << (x % 64) }
func (s *tabStops) clear(x int)    { s[x/64] &^= 1 << (x % 64) }
func (s *tabStops) has(x int) bool { return s[x/64]>>(x%64)&1 != 0 }

// tab moves to the n-th next stop, at most to the end of the line.
func (t *Terminal) tab(n int) {
	end := t.lineEnd() - 1
	for ; n > 0 && t.cur.x < end; n-- {
		for t.cur.x++; t.cur.x < end && !t.tabs.has(t.cur.x); t.cur.x++ {
		}
	}
}

// backTab moves to the n-th stop to the left.
func (t *Terminal) backTab(n int) {
	start := 0
	if t.cur.origin {
		start = t.margins.left
	}
	t.cur.pending = false
	for ; n > 0 && t.cur.x > start; n-- {
		for t.cur.x--; t.cur.x > start && !t.tabs.has(t.cur.x); t.cur.x-- {
		}
	}
}
