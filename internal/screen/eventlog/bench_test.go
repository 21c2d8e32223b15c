package eventlog_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/screen/eventlog"
)

// streams are chunks of 32 kB, as a host reads them from a terminal.
var streams = []struct {
	name string
	data []byte
}{
	{"ascii", chunk("The quick brown fox jumps over the lazy dog, and 0123456789 more.\r\n")},
	{"sgr", chunk("\x1b[1;32mok\x1b[0m \x1b[38;5;196mred\x1b[39m \x1b[48;2;1;2;3mtrue\x1b[m colour \x1b[4munder\x1b[24m\r\n")},
	{"utf8", chunk("日本語のテキスト — naïve café, Ελληνικά, русский текст 😀\r\n")},
}

func chunk(line string) []byte {
	return []byte(strings.Repeat(line, 32<<10/len(line)))
}

func benchOptions() eventlog.Options {
	start := time.Now()
	return eventlog.Options{
		Header: eventlog.Header{Cols: 80, Rows: 24}, LimitBytes: 64 << 20,
		Clock: func() time.Duration { return time.Since(start) }, Now: time.Now,
	}
}

// BenchmarkAppend is a host's pass: append, one write, and rotation now and then.
func BenchmarkAppend(b *testing.B) {
	for _, s := range append(streams, struct {
		name string
		data []byte
	}{"drip", []byte("x")}) {
		b.Run(s.name, func(b *testing.B) {
			w := create(b, b.TempDir(), benchOptions())
			b.SetBytes(int64(len(s.data)))
			b.ReportAllocs()
			for b.Loop() {
				w.Append("o", s.data)
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
				if err := w.RotateIfFull(); err != nil {
					b.Fatal(err)
				}
			}
			st := w.Stats()
			b.ReportMetric(float64(st.Bytes+st.DroppedBytes)/float64(b.N*len(s.data)), "log-B/B")
		})
	}
}

// fill writes about n bytes of output and returns the log.
func fill(b *testing.B, data []byte, n int) *eventlog.Log {
	b.Helper()
	dir := b.TempDir()
	o := benchOptions()
	o.LimitBytes = 0
	w := create(b, dir, o)
	for range n / len(data) {
		w.Append("o", data)
		flush(b, w)
		if err := w.RotateIfFull(); err != nil {
			b.Fatal(err)
		}
	}
	closed(b, w)
	return open(b, dir)
}

func BenchmarkRead(b *testing.B) {
	for _, s := range append(streams, struct {
		name string
		data []byte
	}{"binary", bytes.Repeat([]byte{0xff, 0x00, 0x9b}, 8<<10)}) {
		b.Run(s.name, func(b *testing.B) {
			l := fill(b, s.data, 32<<20)
			b.ReportAllocs()
			var n int64
			for b.Loop() {
				n = 0
				for ev, err := range l.Events(0) {
					if err != nil {
						b.Fatal(err)
					}
					n += int64(len(ev.Data))
				}
			}
			b.SetBytes(n)
		})
	}
}

// BenchmarkSmallEvents reads a log of one-byte events.
func BenchmarkSmallEvents(b *testing.B) {
	l := fill(b, []byte("x"), 1<<18)
	for b.Loop() {
		n := 0
		for range l.Events(0) {
			n++
		}
		if n != 1<<18 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<18), "ns/event")
}

// BenchmarkLast shows that finding the end does not depend on the log's size.
func BenchmarkLast(b *testing.B) {
	for _, mb := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			l := fill(b, streams[1].data, mb<<20)
			for b.Loop() {
				if _, err := l.Last(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
