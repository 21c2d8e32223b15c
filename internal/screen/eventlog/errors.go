package eventlog

import (
	"errors"
	"fmt"
)

// Damage reports a part of a segment that cannot be read. An iterator yields
// it once, skips the rest of the segment and continues with the next.
type Damage struct {
	Segment string // the file's name
	Line    int    // counted from 1, the header
	Seq     uint64 // the first event that could not be read, or 0 if not known
	Err     error
}

func (d *Damage) Error() string {
	if d.Seq == 0 {
		return fmt.Sprintf("log segment %s is damaged at line %d: %v", d.Segment, d.Line, d.Err)
	}
	return fmt.Sprintf("log segment %s is damaged at line %d (event %d): %v", d.Segment, d.Line, d.Seq, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// A Gap reports that the events From to To, inclusive, are not in the log:
// dropped because of the size limit, or not recorded because the disk was
// full. An iterator yields it in their place and continues.
type Gap struct {
	From, To uint64
}

func (g *Gap) Error() string {
	return fmt.Sprintf("events %d to %d are not in the log", g.From, g.To)
}

// Missing reports whether err is a [*Damage] or a [*Gap]: something is
// missing, and the iterator that yielded err continues after it.
func Missing(err error) bool {
	var d *Damage
	var g *Gap
	return errors.As(err, &d) || errors.As(err, &g)
}
