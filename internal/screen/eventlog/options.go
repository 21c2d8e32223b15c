package eventlog

import "time"

// SyncPolicy says when the log is synced to disk. Without a sync, flushed
// events survive a crash of the host but not of the machine.
type SyncPolicy string

const (
	SyncRotate SyncPolicy = "rotate" // a finished segment, and Close
	SyncAlways SyncPolicy = "always" // every Flush
)

const (
	DefaultSegmentBytes = 16 << 20
	DefaultLimitBytes   = 256 << 20

	// maxPending bounds what Append holds in memory: at this size it writes
	// without waiting for a Flush.
	maxPending = 1 << 20
	// keepPending is the buffer size that an idle Writer keeps.
	keepPending = 512 << 10
	// retryEvery is how often a paused Writer tries the disk again.
	retryEvery = time.Second
)

// Options say how a log is written. Clock and Now must be given.
type Options struct {
	Header Header // Cols and Rows follow the resize events for later segments

	// SegmentBytes is the size at which RotateIfFull begins a new segment; 0
	// is DefaultSegmentBytes, or an eighth of the limit if that is less. A
	// segment always holds at least as much in events as in its repaint.
	SegmentBytes int64
	// LimitBytes bounds the log by dropping its oldest segments; 0 is no
	// limit. The segment being written is never dropped.
	LimitBytes int64

	Sync SyncPolicy // empty is SyncRotate

	Clock func() time.Duration // monotonic, since the session's start
	Now   func() time.Time     // the wall clock, for headers

	// Repaint returns the bytes that redraw the whole terminal in a fresh
	// emulator, or nothing. It is called by Create, Rotate, RotateIfFull,
	// Retry, by Flush when nothing was appended since the last one, and by
	// Close; at those points it must reflect every event appended so far. It
	// may be nil.
	Repaint func() []byte

	// After is the position at which an earlier writer of this log stopped,
	// zero for a new log. Numbering continues from there in a new segment.
	After Position
}

// Stats describe a log being written.
type Stats struct {
	Bytes           int64  `json:"bytes"`
	Segments        int    `json:"segments"`
	FirstSeq        uint64 `json:"first_seq"` // the oldest event kept, should there be one
	DroppedSegments int    `json:"dropped_segments"`
	DroppedBytes    int64  `json:"dropped_bytes"`    // by this writer
	Paused          string `json:"paused,omitempty"` // why nothing is recorded now
	LostEvents      uint64 `json:"lost_events"`      // not recorded while paused
	LostBytes       int64  `json:"lost_bytes"`
}
