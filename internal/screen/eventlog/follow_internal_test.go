package eventlog

import (
	"errors"
	"testing"
	"time"
)

// TestFollowerOutrunByItsNotices: a log may drop the segment that is being
// followed before the notice of the next one has come. That is no removal of
// the log.
func TestFollowerOutrunByItsNotices(t *testing.T) {
	var now time.Duration
	o := testOptions(&now)
	o.SegmentBytes, o.LimitBytes = 1<<10, 4<<10
	w, err := Create(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write := func() {
		t.Helper()
		w.Append(Output, make([]byte, 100))
		if err := errors.Join(w.Flush(), w.RotateIfFull()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	f := follower{walker: walker{log: &Log{dir: w.dir}}}
	defer f.close()
	last := uint64(0)
	drain := func() (err error) {
		f.drain(t.Context(), func(ev Event, e error) bool {
			if e == nil {
				last = ev.Seq
			} else if !Missing(e) {
				err = e
			}
			return true
		})
		return err
	}
	if err := drain(); err != nil || last != 1 {
		t.Fatalf("the first event: %d, %v", last, err)
	}
	for range 50 {
		write()
	}
	if !f.removed() {
		t.Fatal("the first segment is still here: the rest of this test shows nothing")
	}
	f.newest = true // the only notice so far: that the segment grew
	if err := drain(); err != nil || last != 51 {
		t.Errorf("followed to event %d, want 51 (%v)", last, err)
	}
}
