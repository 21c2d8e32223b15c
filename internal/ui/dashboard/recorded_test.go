package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/dashboard"
)

// recording writes a log as a host does, without one.
type recording struct {
	t    testing.TB
	dir  home.Dir
	now  time.Duration
	log  *eventlog.Writer
	term *vt.Terminal
}

func record(t testing.TB, segment int64) *recording {
	t.Helper()
	root := home.Home{Path: t.TempDir()}
	r := &recording{t: t, dir: root.Dir(ident.New(time.Now())), term: vt.New(vt.Config{Cols: 60, Rows: 10, Scrollback: replay.Scrollback})}
	if err := os.MkdirAll(r.dir.Log(), 0o700); err != nil {
		t.Fatal(err)
	}
	r.now = 3 * time.Millisecond // a log begins a little after its session
	w, err := eventlog.Create(r.dir.Log(), eventlog.Options{
		Header:       eventlog.Header{Cols: 60, Rows: 10, Term: "xterm-256color"},
		SegmentBytes: segment,
		Clock:        func() time.Duration { return r.now },
		Now:          time.Now,
		Repaint:      r.term.Dump,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r.log, r.now = w, 0
	return r
}

// turn is one turn of a host, a hundred milliseconds after the last.
func (r *recording) turn(code, data string) uint64 {
	r.t.Helper()
	r.now += 100 * time.Millisecond
	seq := r.log.Append(code, []byte(data))
	if err := r.log.Flush(); err != nil {
		r.t.Fatal(err)
	}
	replay.Apply(r.term, eventlog.Event{Code: code, Data: []byte(data)})
	if err := r.log.RotateIfFull(); err != nil {
		r.t.Fatal(err)
	}
	return seq
}

func (r *recording) text() string { return strings.TrimRight(string(r.term.AppendText(nil)), "\n") }

func model(t testing.TB) *dashboard.Model {
	m := dashboard.New(dashboard.Options{})
	t.Cleanup(m.Close)
	return m
}

// lines prints about n bytes of numbered and coloured lines.
func lines(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "\x1b[%dm%x\x1b[m some words in a line\r\n", 31+r.IntN(6), r.Uint64())
	}
	return b.String()
}

// TestScrubbingAgreesWithReplay goes to and fro at random: whatever was cached
// on the way, the screens are those of a replay from the beginning.
func TestScrubbingAgreesWithReplay(t *testing.T) {
	t.Run("event 69 is the last of its segment", func(t *testing.T) { scrub(t, 14496581105743216473) })
	t.Run("random", func(t *testing.T) { scrub(t, rand.Uint64()) })
}

func scrub(t *testing.T, seed uint64) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	rec := record(t, 3<<20)
	const events = 150
	want := map[uint64]string{0: ""}
	for range events {
		switch r.IntN(25) {
		case 0:
			want[rec.turn("r", fmt.Sprintf("%dx%d", 40+r.IntN(60), 5+r.IntN(30)))] = rec.text()
		case 1:
			want[rec.turn("o", "\x1b[H\x1b[2J\x1b[5;5Hat five")] = rec.text()
		default:
			want[rec.turn("o", lines(r, r.IntN(80<<10)))] = rec.text()
		}
	}
	m, ctx := model(t), within(t)
	for range 10 {
		seq := uint64(r.IntN(events + 1))
		f, err := m.AtSeq(ctx, dashboard.Of(rec.dir), seq)
		if err != nil {
			t.Fatal(err)
		}
		if f.Seq != seq || f.Screen.Text != want[seq] {
			t.Fatalf("at %d: %d\n%s\nwant\n%s", seq, f.Seq, f.Screen.Text, want[seq])
		}
		byTime, err := m.AtTime(ctx, dashboard.Of(rec.dir), f.Elapsed+50*time.Millisecond)
		if err != nil || byTime.Seq != seq || byTime.Screen.Hash != f.Screen.Hash {
			t.Fatalf("at %v: %+v %v, want event %d", f.Elapsed, byTime, err, seq)
		}
	}
	place := func(seq uint64) eventlog.Position {
		return eventlog.Position{Seq: seq, Elapsed: time.Duration(seq) * 100 * time.Millisecond}
	}
	for _, c := range []struct {
		from, want uint64
		direction  int
	}{{events, events - 1, -1}, {events - 1, events, 1}, {70, 69, -1}, {69, 70, 1}, {1, 0, -1}, {0, 0, -1}, {events, events, 1}} {
		if at, err := m.Step(ctx, dashboard.Of(rec.dir), place(c.from), c.direction); err != nil || at != place(c.want) {
			t.Errorf("from %d by %d: %v %v, want %d", c.from, c.direction, at, err, c.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	rec := record(t, 4<<10)
	r := rand.New(rand.NewPCG(1, 2))
	store := cell.Store{Dir: rec.dir.Cells()}
	ids := []string{ident.New(time.Now()), ident.New(time.Now()), ident.New(time.Now())}
	rec.turn("c", `{"cell_id":"`+ids[0]+`","status":"fired","code":"make"}`)
	rec.turn("o", lines(r, 10<<10))
	rec.turn("m", "half way")
	rec.turn("c", `{"cell_id":"`+ids[0]+`","status":"done","by":"shell","exit_code":2}`)
	m, ctx := model(t), within(t)
	first, err := m.Timeline(ctx, dashboard.Of(rec.dir))
	if err != nil {
		t.Fatal(err)
	}
	if first.First != (eventlog.Position{}) {
		t.Errorf("it begins with %+v", first.First)
	}
	kept := fmt.Sprintf("%+v", *first)
	rec.turn("r", "90x20")
	rec.turn("c", `{"cell_id":"`+ids[1]+`","status":"fired","code":"read x"}`)
	if err := os.MkdirAll(store.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Begin(cell.Record{Result: cell.Result{CellID: ids[1], Status: cell.Running, WaitingFor: cell.ForInput}, Code: "read x"}); err != nil {
		t.Fatal(err)
	}
	rec.turn("o", lines(r, 20<<10))
	rec.turn("x", "0")

	line, err := m.Timeline(ctx, dashboard.Of(rec.dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", *first); got != kept {
		t.Errorf("a timeline that was handed out has changed:\n%s\n%s", kept, got)
	}
	fresh, err := model(t).Timeline(ctx, dashboard.Of(rec.dir))
	if err != nil || !reflect.DeepEqual(line, fresh) {
		t.Errorf("read in two parts: %+v\nread at once:      %+v (%v)", line, fresh, err)
	}
	if len(line.Cells) != 2 || len(line.Marks) != 1 || len(line.Resizes) != 1 || line.Exit != "0" || line.Last.Seq != 8 {
		t.Fatalf("timeline %+v", line)
	}
	c := line.Cells[0]
	if c.Code != "make" || c.Status != cell.Done || c.ExitCode == nil || *c.ExitCode != 2 || c.Took != 300*time.Millisecond || c.End.Seq != 4 {
		t.Errorf("cell %+v", c)
	}
	if c := line.Cells[1]; c.Status != cell.Running || c.WaitingFor != cell.ForInput || c.Took != 200*time.Millisecond || c.End.Seq != 0 {
		t.Errorf("cell %+v", c)
	}
	if mark := line.Marks[0]; mark.Label != "half way" || mark.Seq != 3 || mark.Elapsed != 300*time.Millisecond {
		t.Errorf("mark %+v", mark)
	}
	var sum int64
	for _, n := range line.Activity.Columns(line.Last.Elapsed, 20) {
		sum += n
	}
	if sum < 30<<10 {
		t.Errorf("activity %+v", line.Activity)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	rec := record(t, 1<<20)
	rec.now = 0
	for i := range 5000 {
		rec.turn("m", fmt.Sprint(i, strings.Repeat("é", 2000)))
		rec.now += time.Minute
		rec.turn("o", "x")
	}
	line, err := model(t).Timeline(within(t), dashboard.Of(rec.dir))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(line.Marks); n > 2000 || n+line.Dropped != 5000 || len(line.Marks[0].Label) > 1100 || len(line.Activity.Bytes) > 512 {
		t.Errorf("%d marks of %d bytes, %d dropped, %d parts of activity", n, len(line.Marks[0].Label), line.Dropped, len(line.Activity.Bytes))
	}
}

func TestChangedRows(t *testing.T) {
	rec := record(t, 1<<20)
	rec.turn("o", "one\r\ntwo\r\nthree")
	rec.turn("o", "\x1b[2;1H\x1b[32mTWO")
	rec.turn("r", "30x8")
	m, ctx := model(t), within(t)
	var frames []*dashboard.Frame
	for seq := range uint64(4) {
		f, err := m.AtSeq(ctx, dashboard.Of(rec.dir), seq)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
	for _, c := range []struct {
		what     string
		from, to *dashboard.Frame
		rows     []int
		full     bool
	}{
		{"one row", frames[1], frames[2], []int{1}, false},
		{"another size", frames[2], frames[3], []int{0, 1, 2, 3, 4, 5, 6, 7}, true},
		{"the first", nil, frames[0], []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, true},
		{"nothing", frames[2], frames[2], nil, false},
	} {
		if rows, full := dashboard.Changed(c.from, c.to); full != c.full || !slices.Equal(rows, c.rows) {
			t.Errorf("%s: rows %v, all %v", c.what, rows, full)
		}
	}
}

func grow(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLiveBehindDamage follows a log of which a part cannot be read: it says
// so, and shows the right screen behind it.
func TestLiveBehindDamage(t *testing.T) {
	rec := record(t, 1<<20)
	rec.turn("o", "before\r\n")
	first := filepath.Join(rec.dir.Log(), "000001.cast")
	begun, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	rec.turn("o", "not to be read\r\n")
	if err := rec.log.Rotate(); err != nil {
		t.Fatal(err)
	}
	rec.turn("o", "behind")

	// The same log grows elsewhere, with a line that is no event.
	torn := home.Home{Path: t.TempDir()}.Dir(rec.dir.ID)
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(torn.Log(), name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(torn.Log(), 0o700); err != nil {
		t.Fatal(err)
	}
	write("000001.cast", begun)
	v := model(t).Live(torn)
	defer v.Close()
	until(t, v, "the beginning", shows("before"))
	grow(t, filepath.Join(torn.Log(), "000001.cast"), "not an event\n")
	second, err := os.ReadFile(filepath.Join(rec.dir.Log(), "000002.cast"))
	if err != nil {
		t.Fatal(err)
	}
	write("new", second)
	if err := os.Rename(filepath.Join(torn.Log(), "new"), filepath.Join(torn.Log(), "000002.cast")); err != nil {
		t.Fatal(err)
	}
	got := until(t, v, "the rest", shows("behind"))
	if got.Screen.Text != rec.text() || len(got.Missing) != 1 || !strings.Contains(got.Missing[0], "damaged") {
		t.Errorf("shows %q, missing %q; want %q", got.Screen.Text, got.Missing, rec.text())
	}
}

// TestLiveHoldsAnnouncedUpdates: between the beginning and the end of a
// synchronised update no screen is shown.
func TestLiveHoldsAnnouncedUpdates(t *testing.T) {
	rec := record(t, 1<<20)
	rec.turn("o", "old")
	m := model(t)
	v := m.Live(rec.dir)
	defer v.Close()
	until(t, v, "the old screen", shows("old"))
	rec.turn("o", "\x1b[?2026h\x1b[H\x1b[2Khalf")
	rec.turn("o", "\x1b[2;1Hwhole\x1b[?2026l")
	until(t, v, "the whole", func(f *dashboard.Frame) bool {
		if f.Screen.Text == "half" {
			t.Log("the machine was too slow to hold the update back; the patience ended")
		}
		return f.Screen.Text == "half\nwhole"
	})
	rec.turn("o", "\x1b[?2026h\x1b[H\x1b[2Knever ended")
	until(t, v, "what a program forgot to end", shows("never ended"))
}

func TestEndsOfModelsAndViews(t *testing.T) {
	rec := record(t, 1<<20)
	rec.turn("o", "text")
	m := dashboard.New(dashboard.Options{})
	a, b := m.Live(rec.dir), m.Live(rec.dir)
	fa := until(t, a, "text", shows("text"))
	if fb := until(t, b, "text", shows("text")); fa != fb {
		t.Error("two views of a session do not share their frames")
	}
	a.Close()
	a.Close()
	rec.turn("o", " more")
	until(t, b, "more", shows("text more"))
	waiting := make(chan error)
	go func() {
		_, err := b.Next(within(t))
		waiting <- err
	}()
	m.Close()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("Next of a closed model: %v", err)
	}
	b.Close()
	late := m.Live(rec.dir)
	if _, err := late.Next(within(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Live of a closed model: %v", err)
	}
	late.Close()
	m.Close()
	if _, err := m.AtSeq(within(t), dashboard.Of(rec.dir.Home.Dir("none")), 1); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a session that is not there: %v", err)
	}
}
