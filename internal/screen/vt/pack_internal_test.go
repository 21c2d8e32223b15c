package vt

import (
	"slices"
	"testing"
)

func TestPackedRowsUnpack(t *testing.T) {
	const cols = 20
	for _, l := range []line{
		{},
		{wrapped: true, prompt: PromptStart | CommandEnd},
		{grid: []cell{'a', 'b', 0, 'c'}},
		{grid: []cell{'a' | 7<<styleShift, 'b' | 7<<styleShift, 3 << styleShift, 0, 'c' | 70000<<styleShift}},
		{grid: []cell{'日' | cellWide, cellSpacer, 'x' | cellProtected, cellCluster | 5, 0, 'z'}},
		{grid: []cell{0xff, 0x80 + 0x20}},
		{grid: append(make([]cell, cols-1), cellPad), wrapped: true},
		{grid: slices.Repeat([]cell{'x' | 1<<styleShift, 'y' | 2<<styleShift}, cols/2)},
	} {
		l.grid = append(l.grid, make([]cell, cols-l.cols())...)
		got := line{grid: slices.Repeat([]cell{'?'}, cols), wrapped: !l.wrapped, prompt: 15}
		got.unpack(l.appendPacked(nil))
		if got.wrapped != l.wrapped || got.prompt != l.prompt || !slices.Equal(got.cells(), l.cells()) {
			t.Errorf("%v became %v", l, got)
		}
	}
}

// The rows that a history keeps are the last ones pushed, however many. Some are
// so long that a page holds few of them, or one.
func TestHistoryKeepsTheNewest(t *testing.T) {
	const cols = 1800
	fill := func(l *line, i int) *line {
		l.clear(0)
		cells := l.edit()
		for x := range (i*i*i)%cols + 1 {
			cells[x] = cell('à'+i%20) | cell(x*i%3)<<styleShift
		}
		return l
	}
	check := func(t *testing.T, h *history, from int) {
		t.Helper()
		if h.first != int64(from) {
			t.Fatalf("first %d of %d, want %d", h.first, h.len(), from)
		}
		for j := range h.len() {
			got, want := h.at(j, newLines(1, cols)[0]), fill(newLines(1, cols)[0], from+j)
			if !slices.Equal(got.cells(), want.cells()) {
				t.Fatalf("at most %d: row %d from %d is %x", h.max, j, from, got.cells())
			}
		}
	}
	for _, most := range []int{0, 1, 3, hotRows - 1, hotRows, hotRows + 1, 40, 133} {
		h := history{max: most}
		row := newLines(1, cols)[0]
		for i := range 300 {
			row = h.push(fill(row, i))
			if want := min(i+1, most); h.len() != want {
				t.Fatalf("%d of %d rows after %d", h.len(), most, i+1)
			}
			if i%29 == 0 || i > 290 {
				check(t, &h, i+1-h.len())
			}
		}
		first := int(h.first)
		for n := h.len(); n >= 0; n -= 1 + n/5 {
			if h.cut(n); h.len() != n {
				t.Fatalf("%d rows, cut at %d", h.len(), n)
			}
			check(t, &h, first)
		}
	}
}
