package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// said is what a reader of a log was told: its events and what is missing.
type said struct {
	events []string
	parts  []wire.LogPart
}

func describe(ev eventlog.Event) string {
	return fmt.Sprintf("%d %v %s %q", ev.Seq, ev.Time, ev.Code, ev.Data)
}

func (s *said) take(part wire.LogPart) error {
	s.parts = append(s.parts, part)
	if part.Gap != nil {
		s.events = append(s.events, fmt.Sprintf("gap %d-%d", part.Gap.From, part.Gap.To))
	}
	for _, e := range part.Events {
		if ev := session.LogEvent(e); !isActivityNote(ev) {
			s.events = append(s.events, describe(ev))
		}
	}
	return nil
}

// onDisk is what the log's own reader tells.
func onDisk(t *testing.T, s *session.Session, after uint64) (all []string) {
	t.Helper()
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range log.Events(after) {
		var gap *eventlog.Gap
		switch {
		case errors.As(err, &gap):
			all = append(all, fmt.Sprintf("gap %d-%d", gap.From, gap.To))
		case err != nil:
			t.Fatal(err)
		case !isActivityNote(ev):
			all = append(all, describe(ev))
		}
	}
	return all
}

// isActivityNote is for notes that the host may add at any moment.
func isActivityNote(ev eventlog.Event) bool {
	_, ok := ev.ActivityNote()
	return ok
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d events, want %d; they differ from number %d on: %.200q, want %.200q", what, len(got), len(want), i, got[i:min(i+2, len(got))], want[i:min(i+2, len(want))])
		}
	}
}

// small is a limit under which the log has segments of some screens, and
// keeps all that startBusy prints.
const small = 96 << 10

// startBusy fills several segments, with bytes that are not text, and waits.
func startBusy(t *testing.T, limit int64) (s *session.Session, gate string) {
	t.Helper()
	gate = fifo(t)
	// Cleared now and then, so that repaints are short. The questions to the
	// terminal make many events of the output, however busy the machine is.
	s, _ = startWith(t, session.Options{}, home.Spec{LogLimit: limit}, "bash", "-c", `i=0
while [ $i -lt 300 ]; do
	if [ $((i % 20)) -eq 0 ]; then printf '\033[2J\033[3J\033[H\033[6n'; IFS= read -rs -d R x; fi
	printf 'line %d \377\376 %0100d\n' $i $i; i=$((i+1))
done
echo all""done; read x < `+gate+`; echo bye`)
	return s, gate
}

func TestLogStreamEqualsLog(t *testing.T) {
	t.Parallel()
	s, gate := startBusy(t, small)
	var followed said
	done := make(chan error, 1)
	go func() { done <- s.Log(context.Background(), wire.Log{Follow: true}, followed.take) }()
	waitFor(t, s, "alldone")
	if _, err := s.Resize(t.Context(), 100, 30); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(t.Context(), "a <label> & more"); err != nil {
		t.Fatal(err)
	}
	last, err := s.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var whole said
	if err := s.Log(t.Context(), wire.Log{}, whole.take); err != nil {
		t.Fatal(err)
	}
	for _, after := range places(t, whole, last) {
		var got said
		if err := s.Log(t.Context(), wire.Log{After: after}, got.take); err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("after %d", after), got.events, onDisk(t, s, after))
	}
	release(t, gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, "followed", followed.events, onDisk(t, s, 0))
	if end := followed.parts[len(followed.parts)-1]; !end.Ended {
		t.Errorf("the last part: %+v", end)
	}
	if err := s.Log(t.Context(), wire.Log{}, followed.take); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("the log of a session that is over: %v", err)
	}
}

// places are events to read from: around every segment's head and the log's
// end, and some between.
func places(t *testing.T, log said, last uint64) (all []uint64) {
	t.Helper()
	heads := 0
	for _, part := range log.parts {
		if seg := part.Segment; seg != nil {
			heads++
			all = append(all, max(seg.Seq, 1)-1, seg.Seq, seg.Seq+1)
		}
	}
	if heads < 3 {
		t.Errorf("the log has %d segments: the test needs more", heads)
	}
	for after := uint64(0); after < last; after += max(last/30, 1) {
		all = append(all, after)
	}
	return append(all, last-1, last, last+1)
}

// From the head of a segment on, a reader that knows nothing of what was
// before has the right screen at every event.
func TestLogStreamRebuildsScreens(t *testing.T) {
	t.Parallel()
	s, _ := startBusy(t, small)
	waitFor(t, s, "alldone")
	last, err := s.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	heads := map[int]bool{}
	for after := uint64(1); after <= last; after += max(last/20, 1) {
		var got said
		if err := s.Log(t.Context(), wire.Log{After: after, Head: true}, got.take); err != nil {
			t.Fatal(err)
		}
		term := &vt.Terminal{}
		for _, part := range got.parts {
			if seg := part.Segment; seg != nil {
				heads[seg.Index] = true
				term = vt.New(vt.Config{Cols: seg.Cols, Rows: seg.Rows, Scrollback: 100})
				if seg.Repaint != nil {
					replay.Apply(term, session.LogEvent(*seg.Repaint))
				}
			}
			for _, e := range part.Events {
				if e.Seq <= after {
					replay.Apply(term, session.LogEvent(e))
				}
			}
			if len(part.Events) > 0 && part.Events[len(part.Events)-1].Seq >= after {
				break
			}
		}
		past, err := s.Replay(t.Context(), session.AtSeq(after))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := screen.Text(term), screen.Text(past.Terminal); got != want {
			t.Errorf("screen at event %d:\n%s\nwant:\n%s", after, got, want)
		}
	}
	if len(heads) < 3 {
		t.Errorf("only segments %v were read: the test needs more", heads)
	}
}

// Segments that were dropped are told as a gap.
func TestLogStreamTellsGaps(t *testing.T) {
	t.Parallel()
	s, _ := startBusy(t, small/6)
	waitFor(t, s, "alldone")
	status, err := s.HostStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Log.DroppedSegments == 0 {
		t.Fatal("no segment was dropped: the test needs a smaller limit")
	}
	for _, after := range []uint64{0, 1, status.Log.FirstSeq - 1, status.Log.FirstSeq, status.Seq, status.Seq + 10} {
		var got said
		if err := s.Log(t.Context(), wire.Log{After: after}, got.take); err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("after %d", after), got.events, onDisk(t, s, after))
	}
}

// A reader that does not read holds neither the program nor the host up, and
// gets everything when it reads again.
func TestLogStreamToSlowReader(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "sh", "-c", "seq 1 150000; echo all''done; read x < "+gate)
	var got said
	stalled, goOn := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Log(context.Background(), wire.Log{Follow: true}, func(part wire.LogPart) error {
			if len(got.parts) == 0 {
				close(stalled)
				<-goOn
			}
			return got.take(part)
		})
	}()
	<-stalled
	waitFor(t, s, "alldone")
	release(t, gate) // it ends, and waits for the reader
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, "slow", got.events, onDisk(t, s, 0))
}

// A host that replaces its binary in the middle of the stream loses and
// doubles nothing.
func TestLogStreamGoesOnOverUpgrades(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := startWith(t, session.Options{}, home.Spec{LogLimit: 4 << 20}, "sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; read word; echo heard $word; read x < "+gate)
	var got said
	begun := make(chan struct{}, 1)
	whole := make(chan struct{}, 1) // the last line came
	var printed []byte
	done := make(chan error, 1)
	go func() {
		done <- s.Log(context.Background(), wire.Log{Follow: true, Head: true}, func(part wire.LogPart) error {
			err := got.take(part)
			tell(begun)
			for _, e := range part.Events {
				printed = append(printed, session.LogEvent(e).Data...)
			}
			if bytes.Contains(printed, []byte("heard of it")) {
				tell(whole)
			}
			return err
		})
	}()
	<-begun
	for range 3 {
		upgrade(t, s)
	}
	// A stream that is between two hosts when the session ends cannot go on:
	// what the last host alone has printed tells that it is not.
	word := "of it"
	if _, err := s.Input(t.Context(), wire.Input{Text: &word, Enter: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-whole:
	case err := <-done:
		t.Fatalf("the stream ended early: %v", err)
	}
	release(t, gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	upgrades := 0
	for _, part := range got.parts {
		if part.Upgrade {
			upgrades++
		}
	}
	if upgrades == 0 {
		t.Error("the stream saw no upgrade: the test shows nothing")
	}
	equal(t, "over upgrades", got.events, onDisk(t, s, 0))
}

func tell(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default: // it was told
	}
}

// A copy of the log is the log, file by file, however often it was broken off.
func TestMirror(t *testing.T) {
	t.Parallel()
	s, gate := startBusy(t, small)
	dir := filepath.Join(t.TempDir(), "copy")
	for i := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		mirrored := make(chan error, 1)
		go func() { mirrored <- s.Mirror(ctx, dir, nil) }()
		if i == 4 {
			waitFor(t, s, "alldone")
		}
		for begun := time.Now(); !grew(t, dir, i); time.Sleep(time.Millisecond) {
			if time.Since(begun) > patience {
				t.Fatal("the copy does not grow")
			}
		}
		cancel()
		if err := <-mirrored; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		tear(t, dir)
	}
	mirrored := make(chan error, 1)
	go func() { mirrored <- s.Mirror(context.Background(), dir, nil) }()
	for clients := 0; clients < 2; { // this question's, and the copy's
		status, err := s.HostStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clients = status.Clients
	}
	release(t, gate)
	if err := <-mirrored; err != nil {
		t.Fatal(err)
	}
	sameFiles(t, dir, s.Dir.Log())
}

// grew reports whether the copy has its n-th segment.
func grew(t *testing.T, dir string, n int) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.cast"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > min(n, 2)
}

// tear leaves half a line at the end, as a crash would.
func tear(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.cast"))
	if err != nil || len(found) == 0 {
		t.Fatal(err)
	}
	f, err := os.OpenFile(found[len(found)-1], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`[0.1, "o", "half`); err != nil {
		t.Fatal(err)
	}
}

func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	names, err := os.ReadDir(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(got, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(want, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s differs: %d bytes, want %d", name.Name(), len(a), len(b))
		}
	}
}
