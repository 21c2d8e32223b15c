package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/screen/vt"
)

// benchStreams are four kinds of output: plain log lines, coloured listings,
// full-screen programs, and text beyond ASCII.
var benchStreams = []struct {
	name string
	make func(w *bytes.Buffer, r *rand.Rand)
}{
	{"ascii", asciiChunk}, {"sgr", sgrChunk}, {"redraw", redrawChunk}, {"utf8", utf8Chunk},
}

func benchStream(chunk func(*bytes.Buffer, *rand.Rand), size int) []byte {
	var w bytes.Buffer
	r := rand.New(rand.NewPCG(42, 42))
	for w.Len() < size {
		chunk(&w, r)
	}
	return w.Bytes()
}

func BenchmarkWrite(b *testing.B) {
	for _, s := range benchStreams {
		b.Run(s.name, func(b *testing.B) {
			stream := benchStream(s.make, 4<<20)
			term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: 10000})
			seq := uint64(0)
			write := func() {
				for p := stream; len(p) > 0; {
					n := min(4096, len(p)) // what a PTY gives at once
					seq++
					term.SetSeq(seq)
					term.Write(p[:n])
					p = p[n:]
				}
			}
			write()
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			n, start := 0, cpuTime()
			for b.Loop() {
				write()
				n++
			}
			// On a busy machine the time on the CPU says more than the clock.
			if used := cpuTime() - start; used > 0 {
				b.ReportMetric(float64(n*len(stream))/1e6/used.Seconds(), "MB/cpu-s")
			}
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDump(b *testing.B) {
	for _, s := range benchStreams {
		b.Run(s.name, func(b *testing.B) {
			term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: 10000})
			term.Write(benchStream(s.make, 4<<20))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(term.Dump())
			}
			b.SetBytes(int64(n))
		})
	}
}

func BenchmarkResize(b *testing.B) {
	term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: 10000})
	term.Write(benchStream(asciiChunk, 4<<20))
	b.ReportAllocs()
	for b.Loop() {
		term.Resize(100, 30)
		term.Resize(80, 24)
	}
}

var benchWords = strings.Fields("connection established handler timeout retry GET /api/v1/users 200 request_id=8f2a91 worker compile " +
	"src/main.go warning: unused variable took 12.4ms cache miss flush INFO DEBUG node-17 queue depth 0x7ffde ok PASS FAIL --- step")

func sentence(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(benchWords[r.IntN(len(benchWords))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

func asciiChunk(w *bytes.Buffer, r *rand.Rand) {
	fmt.Fprintf(w, "2026-11-15T00:%02d:%02d.%03dZ %s\r\n", r.IntN(60), r.IntN(60), r.IntN(1000), sentence(r, 20+r.IntN(110)))
}

func sgrChunk(w *bytes.Buffer, r *rand.Rand) {
	colors := []string{"01;34m", "01;32m", "01;36m", "40;33;01m", "01;31m", "38;5;208m", "38;2;120;200;90m", "30;42m", "1;4m"}
	color := func() string { return colors[r.IntN(len(colors))] }
	if r.IntN(3) == 0 {
		fmt.Fprintf(w, "-rw-r--r-- 1 user user %7d Nov 15 00:%02d \x1b[%s%s\x1b[0m\r\n", r.IntN(9999999), r.IntN(60), color(), sentence(r, 6+r.IntN(20)))
		return
	}
	for range 4 {
		fmt.Fprintf(w, "\x1b[0m\x1b[%s%s\x1b[0m  ", color(), sentence(r, 5+r.IntN(12)))
	}
	w.WriteString("\r\n")
}

func redrawChunk(w *bytes.Buffer, r *rand.Rand) {
	switch r.IntN(3) {
	case 0: // a process monitor's frame
		w.WriteString("\x1b[?25l\x1b[H")
		for i := range 4 {
			k := r.IntN(40)
			fmt.Fprintf(w, "\x1b[%d;3H\x1b[36m%d\x1b[39m\x1b[1m[\x1b[32m%s\x1b[%dC\x1b[30m%5.1f%%\x1b[39m]\x1b[m", i+1, i, strings.Repeat("|", k), 42-k, r.Float64()*100)
		}
		w.WriteString("\x1b[6;1H\x1b[30;42m  PID USER      PRI  NI  VIRT   RES   SHR S CPU%-MEM%   TIME+  Command\x1b[K\x1b[m")
		for i := range 17 {
			fmt.Fprintf(w, "\x1b[%d;1H%5d \x1b[1;30muser\x1b[m       20   0 \x1b[36m%3d\x1b[mM \x1b[36m%3d\x1b[mM %5d S %4.1f  0.%d  0:%02d.%02d \x1b[32m%s\x1b[m\x1b[K",
				i+7, r.IntN(99999), r.IntN(999), r.IntN(999), r.IntN(99999), r.Float64()*99, r.IntN(9), r.IntN(60), r.IntN(100), sentence(r, 18))
		}
		w.WriteString("\x1b[24;1HF1\x1b[30;46mHelp  \x1b[mF2\x1b[30;46mSetup \x1b[mF3\x1b[30;46mSearch\x1b[m\x1b[K")
	case 1: // an editor scrolling
		for range 10 {
			fmt.Fprintf(w, "\x1b[?25l\x1b[1;23r\x1b[23;1H\n\x1b[1;24r\x1b[23;1H\x1b[38;5;130m%4d \x1b[m\x1b[33m%s\x1b[m%s\x1b[24;63H\x1b[K\x1b[24;63H%d,1\x1b[10C%d%%\x1b[23;6H\x1b[?25h",
				r.IntN(9999), sentence(r, 6), sentence(r, 10+r.IntN(50)), r.IntN(9999), r.IntN(100))
		}
	case 2: // typing, insertions and deletions
		fmt.Fprintf(w, "\x1b[%d;%dH", 1+r.IntN(22), 1+r.IntN(70))
		for range 6 {
			fmt.Fprintf(w, "\x1b[?25l%s\x1b[K\x1b[%dD\x1b[%d@%s\x1b[%dP\x1b[?25h", sentence(r, 1+r.IntN(8)), 1+r.IntN(6), 1+r.IntN(3), sentence(r, 3), 1+r.IntN(3))
			fmt.Fprintf(w, "\x1b[%d;1H\x1b[L\x1b[%d;1H\x1b[M\x1b[%dA\x1b[%dB", 1+r.IntN(22), 1+r.IntN(22), 1+r.IntN(3), 1+r.IntN(3))
		}
	}
}

func utf8Chunk(w *bytes.Buffer, r *rand.Rand) {
	words := []string{
		"日本語テキスト", "中文字符测试", "한국어", "😀", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "é́", "à̂", "naïve", "Привет", "ελληνικά", "עברית",
		"العربية", "हिन्दी", "ไทย", "❤️", "─│┌┐└┘", "█▓▒░", "→⇒", "漢字",
	}
	for range 6 {
		w.WriteString(words[r.IntN(len(words))])
		if r.IntN(2) == 0 {
			w.WriteByte(' ')
		}
	}
	w.WriteString("\r\n")
}
