package eventlog

// A Tail reads a log from some point to its current end, and continues when it
// grows. It belongs to one goroutine.
type Tail struct{ walker }

// Tail returns a Tail that begins at the head of the segment with the event
// after after, so that the terminal can be rebuilt: the first events may be
// earlier ones. With 0 it begins at the begin of the log.
func (l *Log) Tail(after uint64) (*Tail, error) {
	t := &Tail{walker{log: l}}
	return t, t.start(after)
}

// Next returns the next event, including repaints, or io.EOF if there is none
// yet. It continues after a [*Damage] or a [*Gap] (see [Missing]); any other
// error is final.
func (t *Tail) Next() (Event, error) {
	var ev Event
	err := t.next(&ev)
	return ev, err
}

// Segment returns the segment of the event that Next returned last.
func (t *Tail) Segment() Segment { return t.cur.seg }

// Close lets go of the log.
func (t *Tail) Close() { t.close() }
