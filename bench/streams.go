package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// streamNames are the four kinds of terminal output that the figures are
// about: log lines, coloured listings, full-screen redraws, and text in many
// scripts.
var streamNames = []string{"ascii", "sgr", "redraw", "utf8"}

// stream returns n bytes or a little more of one kind. The same name always
// gives the same bytes.
func stream(name string, n int) []byte {
	g := &generator{rand: rand.New(rand.NewPCG(42, 7))}
	piece := map[string]func(){"ascii": g.ascii, "sgr": g.sgr, "redraw": g.redraw, "utf8": g.utf8}[name]
	g.Grow(n + 64<<10)
	for g.Len() < n {
		piece()
	}
	return g.Bytes()
}

// streamFile is a file with a stream.
func (b *bench) streamFile(name string, n int) (string, error) {
	return b.fileOnce(fmt.Sprintf("%s-%d", name, n), func() []byte { return stream(name, n) })
}

// textFile is plain text with line feeds alone, as files have them.
func (b *bench) textFile(n int) (string, error) {
	return b.fileOnce(fmt.Sprintf("text-%d", n), func() []byte { return bytes.ReplaceAll(stream("ascii", n), []byte("\r\n"), []byte("\n")) })
}

// fileOnce writes a file unless it is there already, and returns its path.
func (b *bench) fileOnce(name string, data func() []byte) (string, error) {
	path := filepath.Join(b.tmp, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, os.WriteFile(path, data(), 0o600)
}

type generator struct {
	bytes.Buffer
	rand  *rand.Rand
	frame int
}

func (g *generator) p(format string, args ...any) { fmt.Fprintf(g, format, args...) }

func (g *generator) n(n int) int { return g.rand.IntN(n) }

var words = []string{
	"connection", "opened", "handler", "timeout", "retry", "POST", "/v2/items/81", "404", "trace=51c0de", "worker",
	"linking", "internal/screen/vt/row.go", "note:", "declared", "value", "took", "8.1ms", "cache", "hit", "drain", "INFO",
	"TRACE", "shard-3", "queue", "depth", "0xc000a1", "ok", "PASS", "FAIL", "=== RUN",
}

// text returns exactly n columns of words.
func (g *generator) text(n int) string {
	var b []byte
	for len(b) < n {
		b = append(append(b, words[g.n(len(words))]...), ' ')
	}
	return string(b[:n])
}

// ascii is a line of a log; four in ten are longer than the screen is wide.
func (g *generator) ascii() {
	g.p("2026-11-15T00:%02d:%02d.%03dZ %s\r\n", g.n(60), g.n(60), g.n(1000), g.text(20+g.n(110)))
}

var colours = []string{"01;34m", "01;32m", "01;36m", "40;33;01m", "01;31m", "38;5;208m", "38;2;120;200;90m", "30;42m", "1;4m"}

// sgr is a line of a coloured listing, long or in columns.
func (g *generator) sgr() {
	colour := func() string { return colours[g.n(len(colours))] }
	if g.n(3) == 0 {
		g.p("-rw-r--r-- 1 root root %7d Nov 15 00:%02d \x1b[%s%s\x1b[0m\r\n", g.n(1e7), g.n(60), colour(), g.text(6+g.n(20)))
		return
	}
	for range 4 {
		g.p("\x1b[0m\x1b[%s%s\x1b[0m  ", colour(), g.text(5+g.n(12)))
	}
	g.p("\r\n")
}

// redraw is a frame of a program that owns the screen: a process monitor, a
// pager that scrolls a region, an editor in which somebody types.
func (g *generator) redraw() {
	g.frame++
	switch g.frame % 3 {
	case 0:
		g.monitor()
	case 1:
		for range 10 {
			g.p("\x1b[?25l\x1b[1;23r\x1b[23;1H\n\x1b[1;24r\x1b[23;1H\x1b[38;5;130m%4d \x1b[m\x1b[33m%s\x1b[m%s", g.n(9999), g.text(6), g.text(10+g.n(50)))
			g.p("\x1b[24;63H\x1b[K\x1b[24;63H%d,1\x1b[10C%d%%\x1b[23;6H\x1b[?25h", g.n(9999), g.n(100))
		}
	case 2:
		g.p("\x1b[%d;%dH", 1+g.n(22), 1+g.n(70))
		for range 6 {
			g.p("\x1b[?25l%s\x1b[K\x1b[%dD\x1b[%d@%s\x1b[%dP\x1b[?25h", g.text(1+g.n(8)), 1+g.n(6), 1+g.n(3), g.text(3), 1+g.n(3))
			g.p("\x1b[%d;1H\x1b[L\x1b[%d;1H\x1b[M\x1b[%dA\x1b[%dB", 1+g.n(22), 1+g.n(22), 1+g.n(3), 1+g.n(3))
		}
	}
}

func (g *generator) monitor() {
	g.p("\x1b[?25l\x1b[H")
	for i := range 4 {
		k := g.n(40)
		g.p("\x1b[%d;3H\x1b[36m%d\x1b[39m\x1b[1m[\x1b[32m", i+1, i)
		for range k {
			g.WriteByte('|')
		}
		g.p("\x1b[%dC\x1b[30m%5.1f%%\x1b[39m]\x1b[m", 42-k, g.rand.Float64()*100)
	}
	g.p("\x1b[6;1H\x1b[30;42m  PID USER      PRI  NI  VIRT   RES   SHR S CPU%%-MEM%%   TIME+  Command\x1b[K\x1b[m")
	for i := range 17 {
		g.p("\x1b[%d;1H%5d \x1b[1;30mroot\x1b[m       20   0 \x1b[36m%3d\x1b[mM \x1b[36m%3d\x1b[mM %5d S ", i+7, g.n(99999), g.n(999), g.n(999), g.n(99999))
		g.p("%4.1f  0.%d  0:%02d.%02d \x1b[32m%s\x1b[m\x1b[K", g.rand.Float64()*99, g.n(9), g.n(60), g.n(100), g.text(18))
	}
	g.p("\x1b[24;1HF1\x1b[30;46mHelp  \x1b[mF2\x1b[30;46mSetup \x1b[mF3\x1b[30;46mSearch\x1b[m\x1b[K")
}

var scripts = []string{
	"日本語テキスト", "中文字符测试", "한국어", "😀", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é́", "à̂", "naïve", "Привет", "ελληνικά",
	"עברית", "العربية", "हिन्दी", "ไทย", "❤️", "─│┌┐└┘", "█▓▒░", "→⇒", "漢字",
}

// utf8 is a line in several scripts, with clusters of several code points.
func (g *generator) utf8() {
	for range 6 {
		g.WriteString(scripts[g.n(len(scripts))])
		if g.n(2) == 0 {
			g.WriteByte(' ')
		}
	}
	g.WriteString("\r\n")
}
