package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/testkit/vttest"
)

// host does what a session's host does with its log and its screen: append,
// flush, write to the emulator, rotate.
type host struct {
	t    *testing.T
	dir  string
	now  time.Duration
	log  *eventlog.Writer
	term *vt.Terminal
}

func newHost(t *testing.T, segment int64) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), term: vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: replay.Scrollback})}
	w, err := eventlog.Create(h.dir, eventlog.Options{
		Header:       eventlog.Header{Cols: 80, Rows: 24, Term: "xterm-256color"},
		SegmentBytes: segment,
		Clock:        func() time.Duration { return h.now },
		Now:          time.Now,
		Repaint:      h.term.Dump,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	h.log = w
	return h
}

// pass is one pass of the host.
func (h *host) pass(code string, data []byte) uint64 {
	h.t.Helper()
	h.now += 10 * time.Millisecond
	seq := h.log.Append(code, data)
	if err := h.log.Flush(); err != nil {
		h.t.Fatal(err)
	}
	replay.Apply(h.term, eventlog.Event{Seq: seq, Code: code, Data: data})
	if err := h.log.RotateIfFull(); err != nil {
		h.t.Fatal(err)
	}
	return seq
}

func (h *host) open() *eventlog.Log {
	h.t.Helper()
	l, err := eventlog.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func at(t *testing.T, l *eventlog.Log, p replay.Point) *replay.Result {
	t.Helper()
	r, err := replay.At(l, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *vt.Terminal) string { return string(t.AppendText(nil)) }

func TestAt(t *testing.T) {
	h := newHost(t, 1<<20)
	h.pass("o", []byte("one\r\n"))
	h.pass("r", []byte("40x10"))
	h.pass("i", []byte("typed"))
	h.pass("b", []byte("two \xff\r\n")) // one event
	h.pass("x", []byte("3"))
	l := h.open()

	for p, want := range map[replay.Point]string{
		replay.Seq(0):                            "0:80x24:",
		replay.Seq(1):                            "1:80x24:one",
		replay.Time(15 * time.Millisecond):       "1:80x24:one",
		replay.Time(20 * time.Millisecond):       "2:40x10:one",
		replay.Seq(4):                            "4:40x10:one|two \uFFFD",
		replay.End():                             "5:40x10:one|two \uFFFD",
		replay.Seq(99):                           "5:40x10:one|two \uFFFD",
		replay.Time(time.Hour):                   "5:40x10:one|two \uFFFD",
		replay.Time(-1):                          "not_found",
		replay.Time(time.Duration(0)):            "0:80x24:",
		replay.Time(10*time.Millisecond - 1):     "0:80x24:",
		replay.Time(40*time.Millisecond - 1):     "3:40x10:one",
		replay.Time(50 * time.Millisecond):       "5:40x10:one|two \uFFFD",
		replay.Time(50*time.Millisecond - 1_000): "4:40x10:one|two \uFFFD",
	} {
		r, err := replay.At(l, p)
		if err != nil {
			if got := string(fault.KindOf(err)); got != want {
				t.Errorf("At(%v) = %v, want %s", p, err, want)
			}
			continue
		}
		cols, rows := r.Terminal.Size()
		got := fmt.Sprintf("%d:%dx%d:%s", r.Position.Seq, cols, rows, strings.ReplaceAll(strings.TrimRight(text(r.Terminal), "\n"), "\n", "|"))
		if got != want {
			t.Errorf("At(%v) = %q, want %q", p, got, want)
		}
		if exited := r.Exit != nil; exited != (r.Position.Seq == 5) || exited && r.Exit.Status != "3" {
			t.Errorf("At(%v): exit %+v", p, r.Exit)
		}
	}
}

// traffic is what programs send, whole and cut anywhere.
func traffic(r *rand.Rand) []byte {
	pieces := []string{
		"plain text ", "\r\n", "\x1b[1;31mred\x1b[0m", "\x1b[H", "\x1b[2J", "日本語", "é€", "\x1b[5;10H", "\x1b[?1049h", "\x1b[?1049l",
		"\x1b[3;20r", "\x1b[r", "\x1b[L", "\x1b[M", "\x1b[K", "\t", "\b", "\x1b]0;title\x07", "\x1b7", "\x1b8", "\x1b[?25l", "\x1b[?25h",
		"\x1b(0lqk\x1b(B", "\x1b[38;2;10;20;30mtrue\x1b[m", "👩‍👩‍👧", "\x1b[4:3mcurly\x1b[m", "\x1b[?7l", "\x1b[?7h", "\x1b[S", "\x1bM", "\xff\xfe",
		"\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "\x1b[?2004h", "\x1b[10X", "\x1b[3g", "\x1bH", "\x1b[?6h", "\x1b[?6l",
	}
	var b []byte
	for range 1 + r.IntN(30) {
		b = append(b, pieces[r.IntN(len(pieces))]...)
	}
	if r.IntN(3) == 0 {
		b = b[:r.IntN(len(b)+1)] // in the middle of a sequence or a character
	}
	return b
}

// TestSegmentsAgree is the law that segments stand on: replay from the start
// of any segment gives the terminal that replay from the beginning gives, and
// both are the one that the host had.
func TestSegmentsAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for range 5 {
		h := newHost(t, 8<<10)
		screens := map[uint64]string{}
		for range 200 {
			var seq uint64
			if r.IntN(20) == 0 {
				seq = h.pass("r", fmt.Appendf(nil, "%dx%d", 20+r.IntN(100), 5+r.IntN(40)))
			} else {
				seq = h.pass("o", traffic(r))
			}
			screens[seq] = text(h.term)
		}
		l := h.open()
		segs, err := l.Segments()
		if err != nil || len(segs) < 3 {
			t.Fatalf("%d segments, %v", len(segs), err)
		}

		begin := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: replay.Scrollback})
		for ev, err := range l.Events(0) {
			if err != nil {
				t.Fatal(err)
			}
			replay.Apply(begin, ev)
			if r.IntN(10) > 0 && !slices.ContainsFunc(segs, func(s eventlog.Segment) bool { return s.Seq == ev.Seq }) {
				continue
			}
			got := at(t, l, replay.Seq(ev.Seq))
			if d := vttest.Diff(got.Terminal, begin); d != "" {
				t.Fatalf("at event %d, from segment and from the beginning: %s", ev.Seq, d)
			}
			if want, ok := screens[ev.Seq]; ok && text(got.Terminal) != want {
				t.Fatalf("at event %d:\n%s\nwant\n%s", ev.Seq, text(got.Terminal), want)
			}
		}
		if d := vttest.Diff(begin, h.term); d != "" {
			t.Fatalf("the log's terminal and the host's: %s", d)
		}
		end := at(t, l, replay.End())
		if end.Position != h.log.Position() {
			t.Errorf("End is at %v, the host at %v", end.Position, h.log.Position())
		}
	}
}

// TestPlay goes through a log with a hole in it. Its steps are what At gives
// for each of them.
func TestPlay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := newHost(t, 4<<10)
	for range 200 {
		h.pass("o", traffic(r))
	}
	l := h.open()
	segs, err := l.Segments()
	if err != nil || len(segs) < 4 {
		t.Fatalf("%d segments, %v", len(segs), err)
	}
	if err := os.Remove(filepath.Join(h.dir, segs[1].Name)); err != nil {
		t.Fatal(err)
	}
	missing := 0
	var last uint64
	for step, err := range play(l, vt.Config{Scrollback: replay.Scrollback}) {
		if eventlog.Missing(err) {
			missing++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		last = step.Event.Seq
		// The size alone is not yet the whole terminal.
		if step.Event.Code == "r" && step.Event.Repaint {
			continue
		}
		if d := vttest.Diff(step.Terminal, at(t, l, replay.Seq(last)).Terminal); d != "" {
			t.Fatalf("at event %d: %s", last, d)
		}
	}
	if missing != 1 || last != h.log.Position().Seq {
		t.Errorf("ended at %d with %d gaps, want %d and 1", last, missing, h.log.Position().Seq)
	}
}

func TestDamage(t *testing.T) {
	h := newHost(t, 1<<20)
	h.pass("o", []byte("first"))
	if err := h.log.Rotate(); err != nil {
		t.Fatal(err)
	}
	h.pass("o", []byte(" second"))
	h.pass("o", []byte(" third"))
	if err := h.log.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.dir, "000002.cast")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, new, want string
		seq                  uint64
	}{
		{"line", `" third"]`, "\" third\xff]", "first second", 2},
		{"header", `"version"`, `"vers on"`, "first", 1},
	} {
		if err := os.WriteFile(path, bytes.Replace(file, []byte(c.old), []byte(c.new), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := replay.At(h.open(), replay.End())
		if err != nil {
			t.Fatal(err)
		}
		var d *eventlog.Damage
		if !errors.As(r.Err(), &d) || d.Segment != "000002.cast" || r.Position.Seq != c.seq || !strings.HasPrefix(text(r.Terminal), c.want) {
			t.Errorf("%s: at %d, missing %v, screen %q", c.name, r.Position.Seq, r.Missing, strings.TrimSpace(text(r.Terminal)))
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	line := "\x1b[1;32mok\x1b[0m  den/internal/screen/replay \x1b[38;5;244m(cached)\x1b[0m and some more text\r\n"
	data := []byte(strings.Repeat(line, 32<<10/len(line)))
	for _, mb := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			dir := b.TempDir()
			term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: replay.Scrollback})
			w, err := eventlog.Create(dir, eventlog.Options{
				Header: eventlog.Header{Cols: 80, Rows: 24}, Clock: func() time.Duration { return 0 }, Now: time.Now, Repaint: term.Dump,
			})
			if err != nil {
				b.Fatal(err)
			}
			for range mb << 20 / len(data) {
				w.Append("o", data)
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
				term.Write(data)
				if err := w.RotateIfFull(); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			l, err := eventlog.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := replay.At(l, replay.End()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A cleared screen begins anew, also when all of it comes at once.
func TestLinesAfterClear(t *testing.T) {
	var lines []string
	term := vt.New(vt.Config{Cols: 20, Rows: 5, Scrollback: 100})
	l := replay.NewLines(term, func(line string) error { lines = append(lines, line); return nil })
	for _, out := range []string{"one\r\ntwo\r\n", "\x1b[H\x1b[2J\x1b[3Jsecond\r\n"} {
		if err := l.Apply(eventlog.Event{Code: eventlog.Output, Data: []byte(out)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(lines, " "); got != "one two second" {
		t.Errorf("printed %q", got)
	}
}

// step is an event and the terminal right after it. Both belong to the
// iterator, which changes them with its next step.
type step struct {
	Event    eventlog.Event
	Terminal *vt.Terminal
}

// play iterates over the whole log, event by event: for what shows a
// whole recording. What is missing is yielded as an error, with a zero step,
// and stepped over (see [eventlog.Missing]); behind it the terminal is a fresh
// one, repainted. Any other error is the last thing yielded.
func play(l *eventlog.Log, cfg vt.Config) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		var t *vt.Terminal
		for ev, err := range l.Play() {
			if err != nil {
				if !yield(step{}, err) {
					return
				}
				continue
			}
			if cols, rows, ok := ev.Size(); ok && ev.Repaint {
				cfg.Cols, cfg.Rows = cols, rows
				t = vt.New(cfg)
			} else {
				replay.Apply(t, ev) // the first event is always such a size
			}
			if !yield(step{ev, t}, nil) {
				return
			}
		}
	}
}

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
