package vt_test

import (
	"bytes"
	"runtime"
	"testing"

	"den/internal/screen/vt"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An idle terminal is small, and a full scrollback is its text and little more.
func TestMemory(t *testing.T) {
	before := heap()
	term := vt.New(config(80, 24, 10000))
	if idle := heap() - before; idle > 40<<10 {
		t.Errorf("an idle terminal takes %d bytes", idle)
	}
	term.Write(bytes.Repeat([]byte("some line of text\r\n"), 20000))
	if full := heap() - before; full > 600<<10 {
		t.Errorf("with 10000 rows it takes %d bytes", full)
	}
	runtime.KeepAlive(term)
}

func TestWritingDoesNotAllocate(t *testing.T) {
	for _, s := range benchStreams {
		stream := benchStream(s.make, 256<<10)
		term := vt.New(config(80, 24, 100))
		term.Write(stream)
		if n := testing.AllocsPerRun(3, func() { term.Write(stream) }); n > 0 {
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
