package replay_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/testkit/vttest"
)

// A log may hold thousands of resizes. Replaying them wraps the scrollback
// once: the memory that it takes is the measure of the work, and not the time.
func TestThousandsOfResizes(t *testing.T) {
	h := newHost(t, 64<<20)
	h.pass("o", []byte(strings.Repeat(strings.Repeat("a long line that wraps ", 8)+"\r\n", 5000)))
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		size := fmt.Appendf(nil, "%dx%d", 40+r.IntN(100), 10+r.IntN(40))
		h.log.Append("r", size)
		replay.Apply(h.term, eventlog.Event{Code: "r", Data: size})
	}
	if err := h.log.Flush(); err != nil {
		t.Fatal(err)
	}
	l := h.open()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := at(t, l, replay.End())
	runtime.ReadMemStats(&after)
	if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(1<<30); used > limit {
		t.Errorf("replaying 3000 resizes took %d bytes, more than %d", used, limit)
	}
	if d := vttest.Diff(got.Terminal, h.term); d != "" {
		t.Error(d)
	}
}

func BenchmarkResizes(b *testing.B) {
	term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: replay.Scrollback})
	term.Write([]byte(strings.Repeat(strings.Repeat("a long line that wraps ", 8)+"\r\n", 5000)))
	for b.Loop() {
		for i := range 3000 {
			term.Resize(40+i%100, 10+i%40)
		}
		term.ScrollbackLen()
	}
}
