package vt

// cell is one character position of a row.
//
//	bits  0-20  content: a rune, or a cluster number; 0 = blank
//	bit   21    the content is a cluster number
//	bit   22    first half of a wide character, or all of it on a screen of one column
//	bit   23    second half of a wide character (no content)
//	bit   24    protected from selective erase
//	bit   25    left blank at a row's end because a wide character did not fit
//	bits 32-63  style number
type cell uint64

const (
	cellCluster   cell = 1 << 21
	cellWide      cell = 1 << 22
	cellSpacer    cell = 1 << 23
	cellProtected cell = 1 << 24
	cellPad       cell = 1 << 25

	contentMask cell = cellCluster<<1 - 1
	styleShift       = 32
)

// content is a cell's rune or cluster bits alone.
func (c cell) content() cell { return c & contentMask }

func (c cell) style() uint32 { return uint32(c >> styleShift) }

// blank reports whether the cell has no character.
func (c cell) blank() bool { return c&(contentMask|cellSpacer) == 0 }

func (c cell) width() int {
	switch {
	case c&cellSpacer != 0:
		return 0
	case c&cellWide != 0:
		return 2
	}
	return 1
}

func fill(cells []cell, with cell) {
	if with == 0 {
		clear(cells)
		return
	}
	for i := range cells {
		cells[i] = with
	}
}
