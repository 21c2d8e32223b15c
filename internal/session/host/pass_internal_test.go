package host

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/wake"
	"den/internal/process/tree"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// BenchmarkPass is what one chunk of output costs: log, emulator, waiters, the active cell.
func BenchmarkPass(b *testing.B) {
	line := []byte("2026-11-15T00:12:45.123Z INFO worker node-17 request_id=8f2a91 GET /api/v1/users 200 took 12.4ms cache miss\r\n")
	for _, size := range []int{4 << 10, 16 << 10, 64 << 10} {
		for _, beside := range []string{"nothing", "waiter", "cell"} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, beside), func(b *testing.B) {
				start := time.Now()
				clock := func() time.Duration { return time.Since(start) }
				c := &core{
					clock: clock, term: vt.New(vt.Config{Cols: 120, Rows: 40, Scrollback: Scrollback}),
					waiters: map[*waiter]struct{}{}, followers: map[*follower]struct{}{},
					rest: tree.NewActivity(), paused: make(chan struct{}, 1),
				}
				log, err := eventlog.Create(b.TempDir(), eventlog.Options{
					Header: eventlog.Header{Cols: 120, Rows: 40}, LimitBytes: 64 << 20, Clock: clock, Now: time.Now,
					Repaint: func() []byte { return c.term.Dump() },
				})
				if err != nil {
					b.Fatal(err)
				}
				c.log = log
				switch beside {
				case "cell":
					sink := cell.NewSink(filepath.Join(b.TempDir(), "output"))
					c.cell = &cellPass{sink: sink, take: cell.NewCollector(sink, 0, 0, 0), moved: wake.New()}
				case "waiter":
					w, err := newWaiter(waitFor("the end of it all"), 0)
					if err != nil {
						b.Fatal(err)
					}
					c.waiters[w] = struct{}{}
				}
				chunk := bytes.Repeat(line, size/len(line)+1)[:size]
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					c.output(chunk)
				}
				if err := log.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
