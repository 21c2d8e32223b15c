package render

// blockShape draws a character from U+2580 to U+259F.
func blockShape(r rune, w, h int) *shape {
	s := &shape{}
	switch {
	case r == 0x2580:
		s.fill(0, 0, w, part(h, 4))
	case r <= 0x2588:
		s.fill(0, h-part(h, int(r-0x2580)), w, h)
	case r <= 0x258f:
		s.fill(0, 0, part(w, int(0x2590-r)), h)
	case r == 0x2590:
		s.fill(part(w, 4), 0, w, h)
	case r <= 0x2593:
		s.shade(0, 0, w, h, 4*int(r-0x2590)-int(r-0x2591))
	case r == 0x2594:
		s.fill(0, 0, w, part(h, 1))
	case r == 0x2595:
		s.fill(w-part(w, 1), 0, w, h)
	default:
		quadrants(s, quadrantBits[r-0x2596], w, h)
	}
	return s
}

// part is so many eighths, rounded, and never nothing.
func part(size, eighths int) int { return max(1, (size*eighths+4)/8) }

// quadrantBits: upper left, upper right, lower left, lower right from bit 0 on.
var quadrantBits = [10]uint8{4, 8, 1, 1 | 4 | 8, 1 | 8, 1 | 2 | 4, 1 | 2 | 8, 2, 2 | 4, 2 | 4 | 8}

func quadrants(s *shape, bits uint8, w, h int) { mosaic(s, bits, w, h, 2) }

// mosaic fills tiles of two columns and so many rows, bit by bit.
func mosaic(s *shape, bits uint8, w, h, rows int) {
	for i := range 2 * rows {
		if bits>>i&1 == 1 {
			col, row := i%2, i/2
			s.fill(part(w, 4)*col, h*row/rows, part(w, 4)+(w-part(w, 4))*col, h*(row+1)/rows)
		}
	}
}

// sextantShape draws a character from U+1FB00 to U+1FB3B. The numbers leave
// out what is in other blocks: nothing, all, the left and the right half.
func sextantShape(r rune, w, h int) *shape {
	n := int(r-0x1fb00) + 1
	if n >= 0b010101 {
		n++
	}
	if n >= 0b101010 {
		n++
	}
	s := &shape{}
	mosaic(s, uint8(n), w, h, 3)
	return s
}

// eighthShape draws a character from U+1FB70 to U+1FB7B or from U+1FB82 to
// U+1FB8B: eighths of blocks that U+2580 and on lack.
func eighthShape(r rune, w, h int) *shape {
	s := &shape{}
	more := [5]int{2, 3, 5, 6, 7}
	switch {
	case r <= 0x1fb75:
		n := int(r-0x1fb70) + 1
		s.fill(w*n/8, 0, max(w*n/8+1, w*(n+1)/8), h)
	case r <= 0x1fb7b:
		n := int(r-0x1fb76) + 1
		s.fill(0, h*n/8, w, max(h*n/8+1, h*(n+1)/8))
	case r <= 0x1fb86:
		s.fill(0, 0, w, part(h, more[r-0x1fb82]))
	default:
		s.fill(w-part(w, more[r-0x1fb87]), 0, w, h)
	}
	return s
}

// brailleShape draws a character from U+2800 to U+28FF. Dots are squares of
// whole pixels: graphs made of them look even.
func brailleShape(r rune, w, h int) *shape {
	s := &shape{}
	places := [8][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
	size := max(1, (w+2)/5)
	for i, at := range places {
		if (r-0x2800)>>i&1 == 1 {
			x, y := (w*(1+2*at[0])-2*size+2)/4, (h*(1+2*at[1])-4*size+4)/8
			s.fill(x, y, x+size, y+size)
		}
	}
	return s
}
