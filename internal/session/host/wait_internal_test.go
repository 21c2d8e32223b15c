package host

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/process/tree"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// newTestHost is a host without a terminal: what a program would write is
// given to core by the test. In a synctest bubble time passes at will.
func newTestHost(t *testing.T) *Host {
	t.Helper()
	start := time.Now()
	h := newHost(home.Home{Path: t.TempDir()}.Dir("x"), "test")
	h.record = &home.Manifest{Name: "s", Status: home.Running}
	clock := func() time.Duration { return time.Since(start) }
	c := &core{
		clock: clock, term: vt.New(vt.Config{Cols: 40, Rows: 5, Scrollback: 10}),
		waiters: map[*waiter]struct{}{}, followers: map[*follower]struct{}{},
		rest: tree.NewActivity(), paused: make(chan struct{}, 1),
	}
	log, err := eventlog.Create(t.TempDir(), eventlog.Options{
		Header: eventlog.Header{Cols: 40, Rows: 5}, Clock: clock, Now: time.Now, Repaint: func() []byte { return c.term.Dump() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	c.log = log
	h.core = c
	return h
}

// begin starts a wait and returns where its answer comes.
func begin(t *testing.T, h *Host, w wire.Wait) <-chan *wire.WaitResult {
	t.Helper()
	out := make(chan *wire.WaitResult, 1)
	go func() {
		r, err := h.wait(t.Context(), w)
		if err != nil {
			t.Error(err)
		}
		out <- r
	}()
	synctest.Wait()
	return out
}

func pending(t *testing.T, out <-chan *wire.WaitResult) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-out:
		t.Fatalf("answered too early: %+v", r)
	default:
	}
}

func answered(t *testing.T, out <-chan *wire.WaitResult, status string) *wire.WaitResult {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-out:
		if r.Status != status {
			t.Fatalf("answer %+v, want %s", r, status)
		}
		return r
	default:
		t.Fatal("no answer")
		return nil
	}
}

func str(s string) *string { return &s }

func TestWaitText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		out := begin(t, h, wire.Wait{Text: str("done")})
		h.core.output([]byte("working\r\n"))
		pending(t, out)
		h.core.output([]byte("do"))
		pending(t, out)
		h.core.output([]byte("ne"))
		r := answered(t, out, wire.WaitMatched)
		if !r.Matched || r.Text != "done" || r.Seq != 3 || r.ScreenHash != screen.Hash("working\ndone") {
			t.Errorf("answer %+v", r)
		}
	})
}

// A text that stands for one pass only is seen all the same.
func TestWaitSeesEveryPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		out := begin(t, h, wire.Wait{Text: str("blink")})
		h.core.output([]byte("blink"))
		h.core.output([]byte("\x1b[2J"))
		answered(t, out, wire.WaitMatched)
	})
}

func TestWaitBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		h.core.output([]byte("$ "))
		seq, _ := h.core.recordInput(home.RecordAll, ttyMode{echo: true, canonical: true}, []byte("make\r"), typist{foreign: true})
		out := begin(t, h, wire.Wait{Text: str("$ "), After: seq})
		pending(t, out)
		h.core.append(eventlog.Mark, []byte("no output"))
		pending(t, out)
		h.core.output([]byte("make\r\n")) // its echo, below the old prompt
		pending(t, out)
		h.core.output([]byte("$ "))
		answered(t, out, wire.WaitMatched)
	})
}

func TestWaitStableCountsFromTheLastChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		h.core.output([]byte("x"))
		out := begin(t, h, wire.Wait{Stable: time.Second})
		time.Sleep(900 * time.Millisecond)
		h.core.output([]byte("\rx\x1b[31m")) // the same text again
		pending(t, out)
		time.Sleep(99 * time.Millisecond)
		pending(t, out)
		time.Sleep(time.Millisecond)
		answered(t, out, wire.WaitMatched)

		out = begin(t, h, wire.Wait{Stable: 10 * time.Second})
		time.Sleep(5 * time.Second)
		h.core.output([]byte("y")) // other text
		time.Sleep(9 * time.Second)
		pending(t, out)
		time.Sleep(time.Second)
		answered(t, out, wire.WaitMatched)
		// It has stood for long: no more waiting.
		answered(t, begin(t, h, wire.Wait{Stable: 5 * time.Second}), wire.WaitMatched)
		// Input is a change about to come.
		h.core.recordInput(home.RecordAll, ttyMode{echo: true, canonical: true}, []byte("z"), typist{foreign: true})
		out = begin(t, h, wire.Wait{Stable: 5 * time.Second})
		pending(t, out)
		time.Sleep(5 * time.Second)
		answered(t, out, wire.WaitMatched)
	})
}

func TestWaitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		h.core.output([]byte("x"))
		out := begin(t, h, wire.Wait{Idle: time.Second, Text: str("x")})
		time.Sleep(900 * time.Millisecond)
		h.core.output([]byte("\x1b[m")) // output that changes nothing is output
		time.Sleep(900 * time.Millisecond)
		pending(t, out)
		time.Sleep(100 * time.Millisecond)
		answered(t, out, wire.WaitMatched)
	})
}

func TestWaitTimeoutTellsWhatItSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		h.core.output([]byte("one\r\ntwo\r\n"))
		out := begin(t, h, wire.Wait{Text: str("three"), Gone: str("two"), Timeout: time.Minute})
		time.Sleep(time.Minute)
		r := answered(t, out, wire.WaitTimeout)
		if strings.Join(r.Unmet, " ") != "text gone" || strings.Join(r.LastLines, "|") != "one|two" || r.ElapsedMS != 60_000 || r.ScreenHash == "" {
			t.Errorf("answer %+v", r)
		}
	})
}

func TestWaitEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		exit := begin(t, h, wire.Wait{Exit: true})
		text := begin(t, h, wire.Wait{Text: str("never")})
		h.core.output([]byte("last words"))
		h.core.announce(wire.Exit{Code: 143, Signal: "SIGTERM"})
		r := answered(t, exit, wire.WaitMatched)
		if *r.ExitCode != 143 || r.ExitSignal != "SIGTERM" {
			t.Errorf("answer %+v", r)
		}
		r = answered(t, text, wire.WaitEnded)
		if r.Matched || strings.Join(r.LastLines, "") != "last words" {
			t.Errorf("answer %+v", r)
		}
	})
}

// A half-drawn frame is not looked at, but not for ever.
func TestWaitSynchronisedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		out := begin(t, h, wire.Wait{Text: str("frame")})
		h.core.output([]byte("\x1b[?2026hframe"))
		pending(t, out)
		h.core.output([]byte("\x1b[?2026l"))
		answered(t, out, wire.WaitMatched)

		out = begin(t, h, wire.Wait{Text: str("stuck")})
		h.core.output([]byte("\x1b[?2026hstuck"))
		time.Sleep(syncPatience - time.Millisecond)
		pending(t, out)
		time.Sleep(time.Millisecond)
		answered(t, out, wire.WaitMatched)
	})
}

// A snapshot shows whole frames, and does not wait for ever for one.
func TestSnapshotShowsWholeFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		h.core.output([]byte("\x1b[?2026hhalf"))
		text := make(chan string, 1)
		take := func() {
			shot, err := h.snapshot(t.Context(), 0)
			if err != nil {
				t.Error(err)
			}
			text <- shot.Screen.PlainText()
		}
		go take()
		synctest.Wait()
		if len(text) > 0 {
			t.Fatalf("it shows half a frame: %q", <-text)
		}
		h.core.output([]byte(" and half\x1b[?2026l"))
		if got := <-text; got != "half and half" {
			t.Errorf("snapshot %q", got)
		}
		// Between two frames of one write.
		h.core.output([]byte("\x1b[?2026h\r\x1b[Kone"))
		time.Sleep(syncPatience - time.Millisecond)
		h.core.output([]byte("\x1b[?2026l\x1b[?2026h\r\x1b[Ktwo"))
		time.Sleep(2 * time.Millisecond)
		go take()
		synctest.Wait()
		if len(text) > 0 {
			t.Fatalf("it shows half a frame: %q", <-text)
		}
		time.Sleep(syncPatience) // it is stuck
		if got := <-text; got != "two" {
			t.Errorf("snapshot %q", got)
		}
		// The end of a frame in two writes.
		h.core.output([]byte("\x1b[?2026l\x1b[?2026h\r\x1b[Kthree"))
		time.Sleep(syncPatience - time.Millisecond)
		h.core.output([]byte("\x1b[?20"))
		h.core.output([]byte("26l\x1b[?2026h\r\x1b[Kfour"))
		time.Sleep(2 * time.Millisecond)
		go take()
		synctest.Wait()
		if len(text) > 0 {
			t.Fatalf("it shows half a frame behind a split end: %q", <-text)
		}
		h.core.output([]byte("\x1b[?2026l"))
		if got := <-text; got != "four" {
			t.Errorf("snapshot %q", got)
		}
	})
}

func TestWaitCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := h.wait(ctx, wire.Wait{Text: str("x")})
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; err != context.Canceled {
			t.Errorf("wait = %v", err)
		}
		if len(h.core.waiters) != 0 {
			t.Error("the waiter stays behind")
		}
	})
}

func TestUnfinished(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 0, "é": 0, "a\xc3": 1, "日"[:2]: 2, "日"[:1]: 1, "😀"[:3]: 3, "😀": 0,
		"\x80": 0, "\xff": 0, "a\xff": 0, "\xc3\xc3": 1,
	} {
		if got := unfinished([]byte(in)); got != want {
			t.Errorf("unfinished(%q) = %d, want %d", in, got, want)
		}
	}
}

// What the log holds plays to what the screen shows, whatever the reads cut.
func TestCharactersCutByReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHost(t)
		text := "a日本é😀z\xff!"
		for i := range len(text) {
			h.core.output([]byte{text[i]})
		}
		if got, want := screen.Text(h.core.term), "a日本é😀z\uFFFD!"; got != want {
			t.Errorf("screen %q, want %q", got, want)
		}
	})
}

func waitFor(text string) wire.Wait { return wire.Wait{Text: &text} }
