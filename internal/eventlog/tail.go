package eventlog

// A Tail reads a log from a point on, as far as it has been written, and goes
// on when there is more. It belongs to one goroutine.
type Tail struct{ walker }

// Tail begins at the head of the segment that holds the event behind after, so
// that the terminal can be rebuilt: the first events may be earlier ones. With
// 0 it begins where the log does.
func (l *Log) Tail(after uint64) (*Tail, error) {
	t := &Tail{walker{log: l}}
	return t, t.start(after)
}

// Next returns the next event, repaints too; io.EOF means that there is none
// now. It goes on behind a [*Damage] or a [*Gap] (see [Missing]); any other
// error is final.
func (t *Tail) Next() (Event, error) {
	var ev Event
	err := t.next(&ev)
	return ev, err
}

// Segment is where the event that Next returned last is.
func (t *Tail) Segment() Segment { return t.cur.seg }

// Close lets go of the log.
func (t *Tail) Close() { t.close() }
