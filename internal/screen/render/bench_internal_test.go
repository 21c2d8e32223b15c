package render

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"den/internal/screen/vt"
)

// code is a screen full of coloured text, as editors and pagers show it.
func code(cols, rows int) *vt.Terminal {
	words := []string{"\x1b[35mfunc\x1b[m", "(\x1b[34mterminal\x1b[m", "*vt.Terminal)", "\x1b[1;31mreturn\x1b[m", "\x1b[32m\"a string\"\x1b[m", "size,", "err", ":=", "\x1b[2m// why\x1b[m", "next()"}
	t := vt.New(vt.Config{Cols: cols, Rows: rows})
	n := 0
	for row := range rows {
		fmt.Fprintf(t, "\x1b[%dH", row+1)
		for used := 0; used < cols-15; n++ {
			word := words[n%len(words)]
			used += len(strings.NewReplacer("\x1b[35m", "", "\x1b[34m", "", "\x1b[1;31m", "", "\x1b[32m", "", "\x1b[2m", "", "\x1b[m", "").Replace(word)) + 1
			fmt.Fprint(t, word, " ")
		}
	}
	return t
}

// BenchmarkPNG measures a picture and its parts: the grid, the pixels, and
// what makes them small.
func BenchmarkPNG(b *testing.B) {
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		t := code(size[0], size[1])
		r, err := New(Options{})
		if err != nil {
			b.Fatal(err)
		}
		g := FromTerminal(t, r.Theme())
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		b.Run(name+"/all", func(b *testing.B) {
			begun := cpu()
			for b.Loop() {
				if _, err := r.PNG(FromTerminal(t, r.Theme())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-begun)/float64(b.N)/1e6, "cpu-ms/op")
		})
		b.Run(name+"/grid", func(b *testing.B) {
			begun := cpu()
			for b.Loop() {
				FromTerminal(t, r.Theme())
			}
			b.ReportMetric(float64(cpu()-begun)/float64(b.N)/1e6, "cpu-ms/op")
		})
		w, h := r.Size(g.Cols, g.Rows)
		c := newCanvas(w, h, 1, newPalette())
		b.Run(name+"/paint", func(b *testing.B) {
			begun := cpu()
			for b.Loop() {
				paint(r, c, g, func(int) {})
			}
			b.ReportMetric(float64(cpu()-begun)/float64(b.N)/1e6, "cpu-ms/op")
		})
		b.Run(name+"/deflate", func(b *testing.B) {
			n := 0
			begun := cpu()
			for b.Loop() {
				n = len(bytes.Join(newZlib(c.pix).finish(), nil))
			}
			b.ReportMetric(float64(n), "bytes")
			b.ReportMetric(float64(cpu()-begun)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// cpu is what this process has used: on a machine that others use, too, it
// says more than the time.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
