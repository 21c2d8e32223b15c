package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
)

// noLeak fails the test if a goroutine of this package or of its watcher is
// left at the end.
func noLeak(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		// One that has said its last word may need a moment to be gone.
		left := leaked()
		for end := time.Now().Add(2 * time.Minute); left != "" && time.Now().Before(end); left = leaked() {
			runtime.Gosched()
		}
		if left != "" {
			t.Errorf("goroutine left:\n%s", left)
		}
	})
}

func leaked() string {
	buf := make([]byte, 1<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	for g := range strings.SplitSeq(all, "\n\n") {
		if strings.Contains(g, "/eventlog.") || strings.Contains(g, "fsnotify.") {
			return g
		}
	}
	return ""
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestFollowConcurrent follows a writer that rotates and drops. A follower
// that is quick enough sees all; one that is not is told what it missed. The
// two together are always everything, in order.
func TestFollowConcurrent(t *testing.T) {
	noLeak(t)
	const total = 20_000
	for _, limit := range []int64{0, 64 << 10} {
		t.Run(fmt.Sprintf("limit=%d", limit), func(t *testing.T) {
			dir := t.TempDir()
			o := options(&clock{})
			o.SegmentBytes, o.LimitBytes = 16<<10, limit
			o.Repaint = func() []byte { return []byte("repaint") }
			w := create(t, dir, o)
			done := make(chan error, 1)
			go func() {
				for i := range total {
					w.Append("o", fmt.Appendf(nil, "event %d", i+1))
					if i%3 == 0 {
						if err := errors.Join(w.Flush(), w.RotateIfFull()); err != nil {
							done <- err
							return
						}
					}
				}
				w.Append("x", []byte("0"))
				done <- w.Close()
			}()
			var last uint64
			gaps := 0
			for ev, err := range eventlog.Follow(deadline(t), dir, 0) {
				var gap *eventlog.Gap
				if errors.As(err, &gap) {
					gaps++
					if gap.From != last+1 || gap.To < gap.From {
						t.Fatalf("gap %+v after %d", gap, last)
					}
					last = gap.To
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if ev.Seq != last+1 && last > 0 {
					t.Fatalf("event %d after %d", ev.Seq, last)
				}
				last = ev.Seq
				if want := fmt.Sprintf("event %d", ev.Seq); ev.Seq <= total && string(ev.Data) != want {
					t.Fatalf("%q, want %q", ev.Data, want)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if last != total+1 {
				t.Errorf("ended at %d, want %d", last, total+1)
			}
			if limit == 0 && gaps > 0 {
				t.Errorf("%d gaps, nothing was dropped", gaps)
			}
			t.Logf("%d gaps", gaps)
		})
	}
}

// TestFollowIsDropped makes the follower slow on purpose.
func TestFollowIsDropped(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	o := options(&clock{})
	o.SegmentBytes, o.LimitBytes = 1<<10, 4<<10
	w := create(t, dir, o)
	write := func(n int) {
		for range n {
			w.Append("o", make([]byte, 100))
			if err := errors.Join(w.Flush(), w.RotateIfFull()); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1)
	var gaps []eventlog.Gap
	var seqs []uint64
	for ev, err := range eventlog.Follow(deadline(t), dir, 0) {
		var gap *eventlog.Gap
		if errors.As(err, &gap) {
			gaps = append(gaps, *gap)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, ev.Seq)
		if len(seqs) == 1 {
			write(50) // many segments come and go while it looks away
			w.Append("x", []byte("0"))
			closed(t, w)
		}
	}
	if len(gaps) != 1 || gaps[0].To+1 != w.Stats().FirstSeq || seqs[len(seqs)-1] != 52 {
		t.Errorf("gaps %v, events %v, first kept %d", gaps, seqs, w.Stats().FirstSeq)
	}
	for i, s := range seqs[1:] {
		if s != seqs[i]+1 && s != gaps[0].To+1 {
			t.Errorf("event %d after %d", s, seqs[i])
		}
	}
}

func TestFollowEnds(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("a"))
	flush(t, w)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for ev, err := range eventlog.Follow(ctx, dir, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if ev.Seq == 1 {
			cancel()
		}
	}
	if n != 1 {
		t.Errorf("%d events after cancel", n)
	}
	for range eventlog.Follow(ctx, dir, 0) {
		t.Error("an event from a context that has ended")
	}

	w.Append("x", []byte("3"))
	flush(t, w)
	for after, want := range []int{2, 1, 0} { // 2: the exit is known already
		n := 0
		for _, err := range eventlog.Follow(deadline(t), dir, uint64(after)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("Follow(%d): %d events, want %d", after, n, want)
		}
	}
}

func TestFollowWaitsForTheFirstSegment(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	done := make(chan []string, 1)
	ctx := deadline(t)
	go func() {
		var got []string
		for ev, err := range eventlog.Follow(ctx, dir, 0) {
			if err != nil {
				got = append(got, err.Error())
			}
			got = append(got, string(ev.Data))
		}
		done <- got
	}()
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("hello"))
	w.Append("x", []byte("0"))
	closed(t, w)
	if got := fmt.Sprint(<-done); got != "[hello 0]" {
		t.Errorf("got %s", got)
	}
}

func TestFollowGoneDirectory(t *testing.T) {
	noLeak(t)
	for _, err := range eventlog.Follow(deadline(t), filepath.Join(t.TempDir(), "none"), 0) {
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("Follow of nothing: %v", err)
		}
	}
	dir := filepath.Join(t.TempDir(), "log")
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("a"))
	flush(t, w)
	var last error
	for _, err := range eventlog.Follow(deadline(t), dir, 0) {
		last = err
		if err == nil {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if fault.KindOf(last) != fault.NotFound {
		t.Errorf("ended with %v, want not_found", last)
	}
}

// The follower's own open segment keeps the directory from being let go, so
// its end is told by nobody.
func TestFollowDirectoryRemovedMeanwhile(t *testing.T) {
	noLeak(t)
	for range 100 {
		dir := filepath.Join(t.TempDir(), "log")
		w := create(t, dir, options(&clock{}))
		w.Append("o", []byte("a"))
		flush(t, w)
		removed := make(chan error, 1)
		var last error
		for _, err := range eventlog.Follow(deadline(t), dir, 0) {
			if last = err; err == nil {
				go func() { removed <- os.RemoveAll(dir) }()
			}
		}
		if fault.KindOf(last) != fault.NotFound {
			t.Fatalf("ended with %v, want not_found", last)
		}
		if err := <-removed; err != nil {
			t.Fatal(err)
		}
	}
}

// TestFollowTornLine: half a line is nothing until its other half is there.
func TestFollowTornLine(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	logOf(t, dir, 1)
	f, err := os.OpenFile(segmentFiles(t, dir)[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := []string{`[0.5, "o`, `", "wh`, `ole"]` + "\n" + `[0.1, "x", "0"]`, "\n"}
	f.WriteString(parts[0])
	step := make(chan struct{})
	go func() {
		<-step
		for _, p := range parts[1:] {
			f.WriteString(p)
		}
	}()
	var got []string
	for ev, err := range eventlog.Follow(deadline(t), dir, 9) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq == 10 {
			close(step)
			continue
		}
		got = append(got, string(ev.Data))
	}
	if fmt.Sprint(got) != "[whole 0]" {
		t.Errorf("got %q", got)
	}
}

// TestFollowDamage: a bad line costs a follower the rest of its segment, and
// it says so while it waits for the next one.
func TestFollowDamage(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("1"))
	w.Append("o", []byte("2"))
	flush(t, w)
	path := segmentFiles(t, dir)[0]
	put(t, path, bytes.Replace(read(t, path), []byte(`"2"]`), []byte(`"2"!`), 1))
	var got []string
	for ev, err := range eventlog.Follow(deadline(t), dir, 0) {
		if err == nil {
			got = append(got, string(ev.Data))
			continue
		}
		var d *eventlog.Damage
		if !errors.As(err, &d) || d.Seq != 2 || d.Line != 3 {
			t.Fatal(err)
		}
		got = append(got, "damage")
		w.Append("o", []byte("3")) // into the segment that is given up
		if err := w.Rotate(); err != nil {
			t.Fatal(err)
		}
		w.Append("o", []byte("4"))
		w.Append("x", []byte("0"))
		flush(t, w)
	}
	if want := "[1 damage 4 0]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestFollowAcrossUpgrade: a follower stays while one writer takes over from
// another.
func TestFollowAcrossUpgrade(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	w := create(t, dir, options(&clock{}))
	w.Append("o", []byte("1"))
	flush(t, w)
	var got []string
	for ev, err := range eventlog.Follow(deadline(t), dir, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(ev.Data))
		if ev.Seq == 1 {
			o := options(&clock{})
			o.After = w.Position()
			closed(t, w)
			w = create(t, dir, o)
			w.Append("o", []byte("2"))
			w.Append("x", []byte("0"))
			flush(t, w)
		}
	}
	if fmt.Sprint(got) != "[1 2 0]" {
		t.Errorf("got %q", got)
	}
}
