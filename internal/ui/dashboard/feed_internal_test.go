package dashboard

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session/home"
)

// TestFeedJumpsWhenLeftBehind: a feed that a log outruns by whole segments
// does not emulate them all, but goes on from the newest one's repaint.
func TestFeedJumpsWhenLeftBehind(t *testing.T) {
	d := home.Home{Path: t.TempDir()}.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(d.Log(), 0o700); err != nil {
		t.Fatal(err)
	}
	term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: replay.Scrollback})
	w, err := eventlog.Create(d.Log(), eventlog.Options{
		Header: eventlog.Header{Cols: 80, Rows: 24}, SegmentBytes: 384 << 10,
		Clock: func() time.Duration { return 0 }, Now: time.Now, Repaint: term.Dump,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		text := []byte(strings.Repeat("x", 64<<10) + fmt.Sprintf("\r\nchunk %d\r\n", i))
		w.Append(eventlog.Output, text)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		term.Write(text)
		if err := w.RotateIfFull(); err != nil {
			t.Fatal(err)
		}
	}
	w.Append(eventlog.Exit, []byte("0"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Nothing is ever left of the budget: it must rest, and finds that it is
	// late.
	f := &feed{dir: d, budget: inDebt{}}
	if err := f.reload(replay.Seq(1)); err != nil {
		t.Fatal(err)
	}
	behind, err := f.follow(t.Context())
	if !behind || err != nil || f.at.Seq >= 20 {
		t.Fatalf("behind %v at %d, %v", behind, f.at.Seq, err)
	}
	if err := f.leap(t.Context()); err != nil || f.at.Seq < 12 {
		t.Fatalf("leapt to %d, %v", f.at.Seq, err)
	}
	if behind, err := f.follow(t.Context()); behind || err != nil {
		t.Fatalf("behind %v at %d, %v", behind, f.at.Seq, err)
	}
	frame, _, _, err := f.next(0, time.Now())
	if err != nil || frame.Seq != 25 || !strings.Contains(frame.Screen.Text, "chunk 23") {
		t.Errorf("at %+v, %v", frame, err)
	}
	if f.isBehind() {
		t.Error("behind at the end")
	}
}

// inDebt is a budget that others have spent.
type inDebt struct{}

func (inDebt) spend(int, time.Time) time.Duration { return time.Millisecond }
