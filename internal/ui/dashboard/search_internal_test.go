package dashboard

import (
	"testing"

	"den/internal/screen/eventlog"
)

// A search reads one segment at least, and no more than fits, whatever the log's
// length.
func TestStretch(t *testing.T) {
	var log []eventlog.Segment
	for i := range 40 {
		log = append(log, eventlog.Segment{Seq: uint64(100 * i), Size: 5 << 20})
	}
	large := []eventlog.Segment{{Seq: 0, Size: 1 << 30}, {Seq: 100, Size: 1 << 30}}
	for _, c := range []struct {
		segments []eventlog.Segment
		before   uint64
		want     int
	}{
		{nil, 1 << 60, -1},
		{log, 1 << 60, 37}, // three of 5 MiB
		{log, 3701, 34},    // those that the last one left
		{log, 3702, 35},    // the first event of a segment belongs to it
		{log, 150, 0},
		{log, 1, -1},
		{large, 1 << 60, 1},
		{large, 101, 0},
	} {
		if got := stretch(c.segments, c.before); got != c.want {
			t.Errorf("before %d: from segment %d on, want %d", c.before, got, c.want)
		}
	}
}
