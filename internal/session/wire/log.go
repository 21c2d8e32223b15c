package wire

// MethodLog streams the log of the session by sequence number.
const MethodLog = "log"

// Log asks for the events of the log with a number above After.
type Log struct {
	After uint64 `json:"after,omitempty"`
	// Follow goes on with the events that come, until the session is over.
	Follow bool `json:"follow,omitempty"`
	// Head begins with the head of the segment that holds the first event
	// wanted, and with the segment's earlier events: what a screen is rebuilt
	// from.
	Head bool `json:"head,omitempty"`
}

// LogPart is a part of the log. What it has of the following comes in this
// order.
type LogPart struct {
	Gap     *LogGap     `json:"gap,omitempty"`     // in place of events that are not in the log
	Damage  string      `json:"damage,omitempty"`  // in place of events that cannot be read
	Segment *LogSegment `json:"segment,omitempty"` // begins here
	Events  []LogEvent  `json:"events,omitempty"`

	// Ended and Upgrade are on the last part alone: the session is over and
	// this was all of its log, or the host replaces its binary and is to be
	// asked again for what comes after the last event.
	Ended   bool `json:"ended,omitempty"`
	Upgrade bool `json:"upgrade,omitempty"`
}

// LogGap names events that are not in the log, both ends included.
type LogGap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// LogSegment is the head of a segment: its events need nothing from before it.
type LogSegment struct {
	Index  int    `json:"index"`
	Seq    uint64 `json:"seq"` // of the last event before it
	Cols   int    `json:"cols"`
	Rows   int    `json:"rows"`
	Header string `json:"header"` // its first line, as in the log
	// Repaint redraws the whole terminal in a fresh emulator of this size. Or
	// nil: the terminal is empty.
	Repaint *LogEvent `json:"repaint,omitempty"`
}

// LogEvent is one event of the log.
type LogEvent struct {
	Seq     uint64 `json:"seq"`
	Elapsed int64  `json:"elapsed_us"` // since the session's start
	Code    string `json:"code"`
	Text    string `json:"text,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"` // instead of Text where that is not UTF-8
}
