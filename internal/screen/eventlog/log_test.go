package eventlog_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
)

func TestOpenNothing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := eventlog.Open(dir); fault.KindOf(err) != fault.NotFound {
			t.Errorf("Open = %v, want not_found", err)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := create(t, dir, options(&clock{}))
	if err := w.Rotate(); err != nil {
		t.Fatal(err)
	}
	closed(t, w)
	check := func(path string, want fs.FileMode) {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v", path, fi.Mode().Perm(), want)
		}
	}
	check(dir, 0o700)
	files := segmentFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("segments %v, want 2", files)
	}
	for _, f := range files {
		check(f, 0o600)
	}
}

func TestCreateRefusesAnotherLog(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, options(&clock{}))
	if _, err := eventlog.Create(dir, options(&clock{})); fault.KindOf(err) != fault.Busy {
		t.Errorf("Create = %v, want busy", err)
	}
}

// TestWriteRead writes random events with hostile bytes across rotations and
// reads the same ones back, from every start.
func TestWriteRead(t *testing.T) {
	r := seeded(t)
	codes := []string{"o", "o", "o", "i", "m", "c", "n", "h", "s", "zz", "🙂"}
	for round := range 30 {
		dir := t.TempDir()
		c := &clock{}
		o := options(c)
		o.SegmentBytes = int64(200 + r.IntN(4000))
		o.Repaint = func() []byte { return hostileBytes(r) }
		w := create(t, dir, o)
		var want, got []eventlog.Event
		var wantOut, gotOut, wantIn, gotIn []byte
		for range 20 + r.IntN(200) {
			c.t += time.Duration(r.IntN(3_000_000)) * time.Microsecond / time.Duration(1+r.IntN(1000))
			code, data := codes[r.IntN(len(codes))], hostileBytes(r)
			switch code {
			case "o":
				wantOut = append(wantOut, data...)
				w.Append(code, data)
			case "i":
				wantIn = append(wantIn, data...)
				w.Append(code, data)
			default:
				data = bytes.ToValidUTF8(data, nil)
				seq := w.Append(code, data)
				want = append(want, eventlog.Event{Seq: seq, Time: c.t.Truncate(time.Microsecond), Code: code, Data: data})
			}
			if r.IntN(3) == 0 {
				flush(t, w)
			}
			if r.IntN(3) == 0 {
				if err := w.RotateIfFull(); err != nil {
					t.Fatal(err)
				}
			}
		}
		last := w.Position()
		closed(t, w)

		all := whole(t, dir, 0)
		for i, ev := range all {
			if ev.Seq != uint64(i+1) {
				t.Fatalf("event %d has seq %d", i, ev.Seq)
			}
			if out, ok := ev.Output(); ok {
				gotOut = append(gotOut, out...)
			} else if in, ok := ev.Input(); ok {
				gotIn = append(gotIn, in...)
			} else {
				got = append(got, ev)
			}
		}
		if err := sameEvents(got, want); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if !bytes.Equal(gotOut, wantOut) || !bytes.Equal(gotIn, wantIn) {
			t.Fatalf("round %d: output or input differs", round)
		}
		l := open(t, dir)
		if p, err := l.Last(); err != nil || p.Seq != last.Seq || p.Elapsed != all[len(all)-1].Time {
			t.Fatalf("Last = %v, %v, want %v", p, err, last)
		}
		for range 10 {
			after := r.IntN(len(all) + 2)
			if err := sameEvents(whole(t, dir, uint64(after)), all[min(after, len(all)):]); err != nil {
				t.Fatalf("round %d after %d: %v", round, after, err)
			}
		}
		for _, f := range segmentFiles(t, dir) {
			if err := strictV3(read(t, f)); err != nil {
				t.Fatalf("round %d: %s: %v", round, filepath.Base(f), err)
			}
		}
	}
}

// TestCutCharacters shows that a character cut by a read costs a player that
// character at most, not the whole chunk.
func TestCutCharacters(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	euro := "€"
	w.Append("o", []byte("price: "+euro[:1]))
	if seq := w.Append("o", []byte(euro[1:]+" 5 "+euro[:2])); seq != 5 {
		t.Errorf("seq %d, want 5", seq)
	}
	w.Append("o", []byte(euro[2:]))
	w.Append("o", []byte("latin \xe9 one"))
	closed(t, w)
	var got []string
	for _, ev := range whole(t, dir, 0) {
		got = append(got, ev.Code+":"+string(ev.Data))
	}
	want := []string{"o:price: ", "b:\xe2", "b:\x82\xac", "o: 5 ", "b:\xe2\x82", "b:\xac", "o:latin ", "b:\xe9", "o: one"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestBinaryStaysCompact: what is not text at all does not become many events.
func TestBinaryStaysCompact(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	data := bytes.Repeat([]byte("a\xff"), 10_000)
	if seq := w.Append("o", data); seq > 20 {
		t.Errorf("%d events", seq)
	}
	closed(t, w)
	var got []byte
	for _, ev := range whole(t, dir, 0) {
		out, _ := ev.Output()
		got = append(got, out...)
	}
	if !bytes.Equal(got, data) {
		t.Error("output differs")
	}
}

func TestUTF8Prefix(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 1, "é": 2, "a\xc3": 1, "\xe2\x82": 0, "a\xf0\x9f\x98": 1, "a\xff": 2, "\x82\x82\x82\x82": 4, "ab\xe2\x28": 4,
	} {
		if got := eventlog.UTF8Prefix([]byte(s)); got != want {
			t.Errorf("UTF8Prefix(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestClockGoingBack(t *testing.T) {
	dir := t.TempDir()
	c := &clock{t: 5 * time.Second}
	w := create(t, dir, options(c))
	steps := []time.Duration{6 * time.Second, 2 * time.Second, -time.Hour, 6*time.Second + 1500*time.Nanosecond, 7 * time.Second}
	for i, s := range steps {
		c.t = s
		w.Append("m", fmt.Append(nil, i))
		if i == 2 {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, w)
	var got []time.Duration
	for _, ev := range whole(t, dir, 0) {
		got = append(got, ev.Time)
	}
	want := []time.Duration{6 * time.Second, 6 * time.Second, 6 * time.Second, 6*time.Second + time.Microsecond, 7 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
}

// TestTimesDoNotDrift adds up many intervals that are no whole microseconds.
func TestTimesDoNotDrift(t *testing.T) {
	dir := t.TempDir()
	c := &clock{}
	w := create(t, dir, options(c))
	for range 3000 {
		c.t += 333_333 * time.Nanosecond
		w.Append("m", nil)
	}
	closed(t, w)
	evs := whole(t, dir, 0)
	if got, want := evs[len(evs)-1].Time, c.t.Truncate(time.Microsecond); got != want {
		t.Errorf("last time %v, want %v", got, want)
	}
}

func TestSegmentsAndSizes(t *testing.T) {
	dir := t.TempDir()
	c := &clock{}
	o := options(c)
	o.Repaint = func() []byte { return []byte("PAINT") }
	w := create(t, dir, o)
	w.Append("o", []byte("a"))
	w.Append("r", []byte("132x50"))
	c.t = 1500 * time.Millisecond
	if err := w.Rotate(); err != nil {
		t.Fatal(err)
	}
	w.Append("o", []byte("b"))
	closed(t, w)

	l := open(t, dir)
	segs, err := l.Segments()
	if err != nil || len(segs) != 2 {
		t.Fatalf("Segments = %v, %v", segs, err)
	}
	s := segs[1]
	if s.Name != "000002.cast" || s.Index != 2 || s.FirstSeq() != 3 || s.Elapsed != c.t || !s.Repaint ||
		s.Header.Cols != 132 || s.Header.Rows != 50 || !s.Header.Timestamp.Equal(wall.Add(time.Second)) ||
		s.Size != int64(len(read(t, filepath.Join(dir, s.Name)))) {
		t.Errorf("segment %+v", s)
	}
	h, err := l.Header()
	if err != nil || h.Cols != 80 || h.Term != "xterm-256color" || h.Title != "tést" || h.Command != "sh -c 'x < y'" || h.Env["SHELL"] != "/bin/sh" {
		t.Errorf("Header = %+v, %v", h, err)
	}
}

func TestLimitDropsTheOldest(t *testing.T) {
	dir := t.TempDir()
	o := options(&clock{})
	o.LimitBytes = 16 << 10
	o.Repaint = func() []byte { return bytes.Repeat([]byte("p"), 300) }
	w := create(t, dir, o)
	r := seeded(t)
	for range 2000 {
		w.Append("o", bytes.Repeat([]byte("x"), r.IntN(200)))
		flush(t, w)
		if err := w.RotateIfFull(); err != nil {
			t.Fatal(err)
		}
		var disk int64
		for _, f := range segmentFiles(t, dir) {
			fi, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			disk += fi.Size()
		}
		s := w.Stats()
		if s.Bytes != disk {
			t.Fatalf("Stats has %d bytes, the disk %d", s.Bytes, disk)
		}
		if disk > o.LimitBytes+400 { // the last event may cross the line
			t.Fatalf("%d bytes on disk, limit %d", disk, o.LimitBytes)
		}
	}
	s := w.Stats()
	closed(t, w)
	evs := whole(t, dir, 0)
	if s.DroppedSegments == 0 || s.DroppedBytes == 0 || s.FirstSeq != evs[0].Seq || evs[len(evs)-1].Seq != 2000 {
		t.Errorf("stats %+v, events %d to %d", s, evs[0].Seq, evs[len(evs)-1].Seq)
	}
	if s.Bytes < o.LimitBytes/2 {
		t.Errorf("keeps %d bytes only, of %d", s.Bytes, o.LimitBytes)
	}
	_, missing := collect(t, open(t, dir), 3)
	if len(missing) != 1 || *missing[0].(*eventlog.Gap) != (eventlog.Gap{From: 4, To: s.FirstSeq - 1}) {
		t.Errorf("missing %v", missing)
	}
	if _, err := open(t, dir).ReplaySeq(5); fault.KindOf(err) != fault.NotFound {
		t.Errorf("ReplaySeq of a dropped event = %v, want not_found", err)
	}
}

// TestHugeRepaint: a repaint larger than a segment must not rotate for ever.
func TestHugeRepaint(t *testing.T) {
	dir := t.TempDir()
	o := options(&clock{})
	o.SegmentBytes = 100
	o.Repaint = func() []byte { return bytes.Repeat([]byte("p"), 10_000) }
	w := create(t, dir, o)
	for range 100 {
		w.Append("o", bytes.Repeat([]byte("x"), 200))
		flush(t, w)
		if err := w.RotateIfFull(); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Stats().Segments; n != 3 {
		t.Errorf("%d segments, want 3", n)
	}
}

func TestContinue(t *testing.T) {
	for _, torn := range []string{"", `[0.5, "o", "half a li`} {
		dir := t.TempDir()
		c := &clock{}
		w := create(t, dir, options(c))
		w.Append("o", []byte("one"))
		c.t = time.Second
		w.Append("o", []byte("two"))
		flush(t, w)
		o := options(c)
		o.After = w.Position()
		closed(t, w)
		first := segmentFiles(t, dir)[0]
		put(t, first, append(read(t, first), torn...))

		c.t = 3 * time.Second
		w = create(t, dir, o)
		if seq := w.Append("o", []byte("three")); seq != 3 {
			t.Errorf("seq %d, want 3", seq)
		}
		closed(t, w)
		if s := w.Stats(); s.Segments != 2 || s.FirstSeq != 1 || s.DroppedSegments != 0 {
			t.Errorf("stats %+v", s)
		}
		var got []string
		for _, ev := range whole(t, dir, 0) {
			got = append(got, fmt.Sprint(ev.Seq, string(ev.Data), ev.Time))
		}
		if want := []string{"1one0s", "2two1s", "3three3s"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}

		o.After = eventlog.Position{Seq: 1}
		if _, err := eventlog.Create(dir, o); fault.KindOf(err) != fault.Storage {
			t.Errorf("Create before the log's end = %v, want storage", err)
		}
		o.After = eventlog.Position{Seq: 10, Elapsed: 9 * time.Second}
		w = create(t, dir, o)
		closed(t, w)
		evs, missing := collect(t, open(t, dir), 0)
		last := evs[len(evs)-1]
		if len(missing) != 1 || last.Code != "n" || last.Seq != 11 || !strings.Contains(string(last.Data), `"from_seq":4,"to_seq":10`) {
			t.Errorf("missing %v, last %v %s", missing, last.Seq, last.Data)
		}
	}
}

func TestReplayBounds(t *testing.T) {
	dir := t.TempDir()
	c := &clock{}
	o := options(c)
	o.Repaint = func() []byte { return fmt.Append(nil, "paint@", c.t) }
	w := create(t, dir, o)
	for i := range 9 {
		c.t = time.Duration(i+1) * time.Second
		w.Append("o", fmt.Append(nil, i+1))
		if i%3 == 2 {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, w)
	l := open(t, dir)
	show := func(r *eventlog.Replay, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		out := []string{r.Segment.Name[5:6]}
		for ev, err := range r.Events() {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(ev.Data))
		}
		return strings.Join(out, " ")
	}
	for seq, want := range map[uint64]string{
		0: "1 paint@0s", 2: "1 paint@0s 1 2", 3: "2 paint@3s", 5: "2 paint@3s 4 5", 9: "4 paint@9s", 99: "4 paint@9s",
	} {
		if got := show(l.ReplaySeq(seq)); got != want {
			t.Errorf("ReplaySeq(%d) = %q, want %q", seq, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "1 paint@0s", 2500 * time.Millisecond: "1 paint@0s 1 2", 3 * time.Second: "2 paint@3s", 8 * time.Second: "3 paint@6s 7 8", time.Hour: "4 paint@9s",
	} {
		if got := show(l.ReplayTime(d)); got != want {
			t.Errorf("ReplayTime(%v) = %q, want %q", d, got, want)
		}
	}
	if got := show(l.ReplayEnd()); got != "4 paint@9s" {
		t.Errorf("ReplayEnd = %q", got)
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "000001.cast"), []byte(`{"version":3,"term":{"cols":80,"rows":24},"den":{"v":2,"seq":"a shape of the future"}}`+"\n"))
	l := open(t, dir)
	check := func(what string, err error) {
		t.Helper()
		if fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "up to 1") {
			t.Errorf("%s = %v, want protocol with both versions", what, err)
		}
	}
	_, err := l.Segments()
	check("Segments", err)
	_, err = l.Last()
	check("Last", err)
	_, err = l.ReplayEnd()
	check("ReplayEnd", err)
	for _, err := range l.Events(0) {
		check("Events", err)
	}
}

func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000001.cast")
	put(t, path, []byte(`{"version": 3, "term": {"cols": 80, "rows": 24, "theme": {"fg": "#d0d0d0"}}, "timestamp": 1504467315.5, "unknown": [1]}
# a comment

[0.248, "o", "\u001b[1;31mHello \u001B[32mWorld!\u001b[0m\n"]
[1.0015, "o", "pair \ud83d\ude00 / \/"]
  [ 1e-3 , "m" , "" ] `+"\r"+`
[2, "r", "90x30"]
[0.1234567, "zz", {"any": 1}]
[0.887, "x", "0"]
`))
	l, err := eventlog.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	evs, missing := collect(t, l, 0)
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	var got []string
	for _, ev := range evs {
		got = append(got, fmt.Sprintf("%d %v %s %q", ev.Seq, ev.Time, ev.Code, ev.Data))
	}
	want := []string{
		`1 248ms o "\x1b[1;31mHello \x1b[32mWorld!\x1b[0m\n"`, `2 1.2495s o "pair 😀 / /"`, `3 1.2505s m ""`,
		`4 3.2505s r "90x30"`, `5 3.373957s zz "{\"any\": 1}"`, `6 4.260957s x "0"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if p, err := l.Last(); err != nil || p.Seq != 6 {
		t.Errorf("Last = %v, %v", p, err)
	}
}

// TestReadOnlyDirectory: readers write nothing. As root the modes do not bind,
// so that the directory's content is compared too.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("x"))
	closed(t, w)
	f := segmentFiles(t, dir)[0]
	os.Chmod(f, 0o400)
	os.Chmod(dir, 0o500)
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	before, _ := os.Stat(dir)
	if n := len(whole(t, dir, 0)); n != 1 {
		t.Errorf("%d events", n)
	}
	if _, err := open(t, dir).Last(); err != nil {
		t.Error(err)
	}
	for ev, err := range eventlog.Follow(t.Context(), dir, 0) {
		if err != nil || string(ev.Data) != "x" {
			t.Errorf("Follow: %v, %v", ev, err)
		}
		break
	}
	if after, _ := os.Stat(dir); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a reader changed the directory")
	}
}

func TestPendingIsBounded(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	chunk := make([]byte, 64<<10)
	for i := range chunk {
		chunk[i] = byte('a' + rand.IntN(26))
	}
	for range 64 {
		w.Append("o", chunk)
	}
	if s := w.Stats(); s.Bytes < 2<<20 {
		t.Errorf("%d bytes on disk without a Flush: the rest is in memory", s.Bytes)
	}
	closed(t, w)
	if n := len(whole(t, dir, 0)); n != 64 {
		t.Errorf("%d events, want 64", n)
	}
}
