// Package eventlog keeps what happened on a terminal as a directory of
// asciicast v3 files.
//
// # Format
//
// A log is a directory of segments, 000001.cast, 000002.cast and so on. Each
// is an asciicast v3 file that plays alone: a header, one output event that
// repaints the whole terminal, then the events. The header carries den's own
// key, "den": {"v", "segment", "seq", "elapsed_us", "repaint", "sum"}, from which a
// segment's place in the session is known without reading the ones before it.
// The events of a segment are numbered from seq+1 on, a line each; the repaint
// and comments have no number. Codes of den's own are skipped by players.
//
// # Ordering
//
// A segment appears under its name whole: header and repaint are written
// aside and renamed. Events are only ever added at the end of the newest
// segment, and a segment is finished before the next one appears. So whoever
// sees segment N+1 and then reads segment N to its end has all of N. A last
// line without its newline is not there yet. Times never go back, whatever
// the clock does, and are whole microseconds since the session's start.
//
// # Ownership
//
// A [Writer] belongs to one goroutine. It starts at most one of its own, which
// syncs a finished segment, and Close waits for it. Readers take no lock and
// need no write permission; a [Log] holds no file open and may be shared. The
// Data of an [Event] belongs to the iterator and is valid until its next step.
package eventlog
