package vt

import (
	"fmt"
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

// The rows that a history keeps are the last ones pushed, however many.
func TestHistoryKeepsTheNewest(t *testing.T) {
	for _, most := range []int{0, 1, 3, hotRows - 1, hotRows, hotRows + 1, pageRows, 3*pageRows + 5} {
		h := history{max: most}
		row := &line{grid: make([]cell, 8)}
		for i := range 5 * pageRows {
			row.clear(0)
			for x, b := range fmt.Sprint(i) {
				row.edit()[x] = cell(b)
			}
			row = h.push(row)
			if want := min(i+1, most); h.len() != want || h.first != int64(i+1-want) {
				t.Fatalf("%d of %d rows after %d, first %d", h.len(), most, i+1, h.first)
			}
			for j := range h.len() {
				got := h.at(j, &line{grid: make([]cell, 8)})
				want := &line{grid: make([]cell, 8)}
				for x, b := range fmt.Sprint(int(h.first) + j) {
					want.edit()[x] = cell(b)
				}
				if !slices.Equal(got.cells(), want.cells()) {
					t.Fatalf("at most %d: row %d after %d is %x", most, j, i, got.cells())
				}
			}
		}
	}
}
