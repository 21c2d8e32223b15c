package eventlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
)

// disk is a disk with so much room, and errors on demand.
type disk struct {
	osFiles
	room int   // bytes that still fit
	err  error // what every operation returns, or nil

	syncErr error
	syncs   atomic.Int32
}

func (d *disk) create(path string) (file, error) {
	if d.err != nil {
		return nil, d.err
	}
	f, err := d.osFiles.create(path)
	return &diskFile{f, d}, err
}

type diskFile struct {
	file
	d *disk
}

func (f *diskFile) Write(p []byte) (int, error) {
	if f.d.err != nil {
		return 0, f.d.err
	}
	n := min(len(p), f.d.room)
	f.d.room -= n
	n, err := f.file.Write(p[:n])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *diskFile) Sync() error {
	f.d.syncs.Add(1)
	return f.d.syncErr
}

func testOptions(now *time.Duration) Options {
	return Options{
		Header: Header{Cols: 80, Rows: 24},
		Clock:  func() time.Duration { return *now },
		Now:    func() time.Time { return time.Unix(1, 0) },
	}
}

func TestPauseAndResume(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	d := &disk{room: 1 << 20}
	o := testOptions(&now)
	state := "" // the screen: all output so far
	o.Repaint = func() []byte { return []byte(state) }
	w, err := create(dir, o, d)
	if err != nil {
		t.Fatal(err)
	}
	pass := func(s string) (uint64, error) {
		seq := w.Append(Output, []byte(s))
		err := w.Flush()
		state += s
		return seq, errors.Join(err, w.RotateIfFull())
	}
	if _, err := pass("one,"); err != nil {
		t.Fatal(err)
	}
	d.room = 60 // the first of the two lines fits, and a part of the second
	w.Append(Output, []byte("two,"))
	state += "two,"
	_, err = pass(strings.Repeat("t", 40) + ",")
	if !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Storage || fault.HintOf(err) == "" {
		t.Fatalf("Flush = %v, want ENOSPC, storage, with a hint", err)
	}
	for i := range 5 {
		now += 300 * time.Millisecond
		seq, err := pass("lost,")
		if err != nil || seq != uint64(4+i) {
			t.Fatalf("paused: seq %d, %v, want %d and nothing said again", seq, err, 4+i)
		}
	}
	if s := w.Stats(); s.Paused == "" || s.LostEvents != 6 || s.LostBytes == 0 {
		t.Errorf("stats %+v", s)
	}
	if err := w.Retry(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Retry = %v", err)
	}
	d.room = 1 << 20
	if err := w.Retry(); err == nil {
		t.Error("Retry tried twice within a second")
	}
	now += time.Second
	if _, err := pass("lost too,"); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s.Paused != "" || s.LostEvents != 7 || s.Segments != 2 {
		t.Errorf("stats %+v", s)
	}
	if _, err := pass("again"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	l, _ := Open(dir)
	var got []string
	for ev, err := range l.Events(0) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, fmt.Sprintf("%d %s %s", ev.Seq, ev.Code, ev.Data))
	}
	want := []string{
		"1 o one,", "2 o two,", "events 3 to 9 are not in the log",
		fmt.Sprintf(`10 n {"gap":{"from_seq":3,"to_seq":9,"bytes":%d,"error":"no space left on device"}}`, w.Stats().LostBytes), "11 o again",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r, err := l.ReplaySeq(10)
	if err != nil {
		t.Fatal(err)
	}
	for ev := range r.Events() {
		if ev.Repaint && string(ev.Data) != strings.TrimSuffix(state, "again") {
			t.Errorf("repaint %q, want all that was lost too", ev.Data)
		}
	}
}

// TestExitWhilePaused: the exit is recorded late rather than never.
func TestExitWhilePaused(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	d := &disk{room: 1 << 20}
	w, err := create(dir, testOptions(&now), d)
	if err != nil {
		t.Fatal(err)
	}
	d.err = syscall.EIO
	w.Append(Output, []byte("x"))
	if err := w.Flush(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Flush = %v", err)
	}
	w.Append(Exit, []byte("7"))
	d.err = nil
	if err := w.Close(); err != nil { // within the second: Close tries all the same
		t.Fatal(err)
	}
	l, _ := Open(dir)
	var codes []string
	for ev, err := range l.Events(0) {
		if err == nil {
			codes = append(codes, ev.Code+string(ev.Data))
		}
	}
	if len(codes) != 2 || codes[1] != "x7" || codes[0][0] != 'n' {
		t.Errorf("events %q, want the note and the exit", codes)
	}
}

func TestCloseWhilePaused(t *testing.T) {
	var now time.Duration
	d := &disk{room: 1 << 20}
	w, err := create(t.TempDir(), testOptions(&now), d)
	if err != nil {
		t.Fatal(err)
	}
	d.err = syscall.EDQUOT
	w.Append(Output, []byte("x"))
	if err := w.Close(); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("Close = %v, want EDQUOT", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := w.Flush(); err == nil {
		t.Error("Flush after Close says nothing")
	}
}

// TestContinueOnAFullDisk: a host that replaces itself goes on all the same.
func TestContinueOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	d := &disk{room: 1 << 20}
	o := testOptions(&now)
	w, err := create(dir, o, d)
	if err != nil {
		t.Fatal(err)
	}
	w.Append(Output, []byte("one"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d.room = 0
	if _, err := create(t.TempDir(), o, d); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new log on a full disk: %v", err)
	}
	o.After = w.Position()
	if w, err = create(dir, o, d); err != nil {
		t.Fatal(err)
	}
	w.Append(Output, []byte("two"))
	if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Flush = %v, want ENOSPC", err)
	}
	d.room = 1 << 20
	now += 2 * time.Second
	if err := w.Retry(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ := Open(dir)
	if p, err := l.Last(); err != nil || p.Seq != 3 {
		t.Errorf("Last = %v, %v, want the note at 3", p, err)
	}
}

// TestSyncPolicies counts how often each policy forces the disk.
func TestSyncPolicies(t *testing.T) {
	for policy, want := range map[SyncPolicy]int{SyncRotate: 2, SyncAlways: 2 + 5 + 1} {
		var now time.Duration
		d := &disk{room: 1 << 20}
		o := testOptions(&now)
		o.Sync = policy
		w, err := create(t.TempDir(), o, d)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			w.Append(Output, []byte("x"))
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Rotate(); err != nil { // flushes too
			t.Fatal(err)
		}
		if err := w.awaitSync(); err != nil {
			t.Fatal(err)
		}
		w.o.Sync = SyncRotate
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := int(d.syncs.Load()); got != want {
			t.Errorf("%s: %d syncs, want %d", policy, got, want)
		}
	}
}

// TestSyncFails: the error of a sync beside the work reaches the caller.
func TestSyncFails(t *testing.T) {
	var now time.Duration
	d := &disk{room: 1 << 20, syncErr: syscall.EIO}
	w, err := create(t.TempDir(), testOptions(&now), d)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); !errors.Is(err, syscall.EIO) || fault.KindOf(err) != fault.Storage {
		t.Errorf("Flush = %v, want the sync's EIO", err)
	}
	if err := w.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close = %v, want EIO", err)
	}
}

// TestRotateFails: the old segment goes on, nothing is lost.
func TestRotateFails(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	d := &disk{room: 1 << 20}
	o := testOptions(&now)
	o.SegmentBytes = 1
	w, err := create(dir, o, d)
	if err != nil {
		t.Fatal(err)
	}
	fail := &failCreate{disk: d, err: syscall.EMFILE}
	w.fs = fail
	said := 0
	for range 20 {
		now += 100 * time.Millisecond
		w.Append(Output, make([]byte, 300))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := w.RotateIfFull(); err != nil {
			said++
		}
	}
	if said == 0 || said > 3 {
		t.Errorf("said %d times in two seconds", said)
	}
	w.fs = d
	now += time.Second
	if err := w.RotateIfFull(); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s.Segments != 2 || s.LostEvents != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, dir); n != 20 {
		t.Errorf("%d events, want 20", n)
	}
}

type failCreate struct {
	*disk
	err error
}

func (f *failCreate) create(string) (file, error) { return nil, f.err }

func count(t *testing.T, dir string) (n int) {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestSegmentRemovedUnderTheWriter(t *testing.T) {
	dir := t.TempDir()
	var now time.Duration
	w, err := create(dir, testOptions(&now), osFiles{})
	if err != nil {
		t.Fatal(err)
	}
	if err := (osFiles{}).remove(filepath.Join(dir, segmentName(1))); err != nil {
		t.Fatal(err)
	}
	now += 2 * time.Second
	w.Append(Output, []byte("into the void"))
	if err := w.Flush(); !errors.Is(err, errRemoved) {
		t.Fatalf("Flush = %v, want that the segment was removed", err)
	}
	now += 2 * time.Second
	if err := w.Retry(); err != nil {
		t.Fatal(err)
	}
	w.Append(Output, []byte("here"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ := Open(dir)
	if p, err := l.Last(); err != nil || p.Seq != 2 {
		t.Errorf("Last = %v, %v", p, err)
	}
}

// TestUnreliableDisk writes to a disk that fails at random. Whatever is
// readable is right, whatever is not is in a gap, and a note says the same.
func TestUnreliableDisk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 40 {
		dir := t.TempDir()
		var now time.Duration
		d := &disk{room: 1 << 20}
		o := testOptions(&now)
		o.SegmentBytes = 3000
		o.Repaint = func() []byte { return make([]byte, r.IntN(300)) }
		w, err := create(dir, o, d)
		if err != nil {
			t.Fatal(err)
		}
		sent := map[uint64]string{}
		for range 400 {
			now += time.Duration(r.IntN(300)) * time.Millisecond
			switch r.IntN(12) {
			case 0:
				d.room = r.IntN(600)
			case 1:
				d.err = syscall.EIO
			case 2, 3, 4:
				d.room, d.err = 1<<20, nil
			}
			for range r.IntN(4) {
				s := fmt.Sprint("data ", r.IntN(1000), strings.Repeat("y", r.IntN(100)))
				sent[w.Append(Output, []byte(s))] = s
			}
			w.Flush()        // its errors are what this test makes
			w.RotateIfFull() // likewise
		}
		d.room, d.err = 1<<20, nil
		if err := w.Close(); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		l, _ := Open(dir)
		var last uint64
		gaps := 0
		for ev, err := range l.Events(0) {
			var gap *Gap
			if errors.As(err, &gap) {
				if gap.From != last+1 {
					t.Fatalf("gap %v after %d", gap, last)
				}
				gaps++
				last = gap.To
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.Seq != last+1 {
				t.Fatalf("event %d after %d", ev.Seq, last)
			}
			last = ev.Seq
			if ev.Code == Note {
				var n gapNote
				if err := json.Unmarshal(ev.Data, &n); err != nil || n.Gap.To != ev.Seq-1 {
					t.Fatalf("note %s at %d: %v", ev.Data, ev.Seq, err)
				}
			} else if sent[ev.Seq] != string(ev.Data) {
				t.Fatalf("event %d is %q, want %q", ev.Seq, ev.Data, sent[ev.Seq])
			}
		}
		if last != w.Position().Seq {
			t.Fatalf("the log ends at %d, the writer at %d", last, w.Position().Seq)
		}
		if gaps == 0 && w.Stats().LostEvents > 0 {
			t.Fatal("events were lost without a gap")
		}
	}
}
