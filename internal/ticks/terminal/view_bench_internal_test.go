package terminal

import (
	"fmt"
	"strings"
	"testing"
)

// How fast output is emulated and its lines are collected.
func BenchmarkView(b *testing.B) {
	var out strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&out, "line %d of a program that prints a lot\r\n", i)
	}
	text := []byte(out.String())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v := newView(Cols, Rows, spoolIn(b.TempDir()))
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 16<<10)
			v.write(rest[:n])
			rest = rest[n:]
		}
		v.take()
		if l, err := v.lines.drain(false); err != nil || l.Total != 100_000 {
			b.Fatalf("%d lines, %v", l.Total, err)
		}
	}
}
