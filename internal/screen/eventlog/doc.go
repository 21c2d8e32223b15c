// Package eventlog records what happens on a terminal as a directory of
// asciicast v3 files.
//
// # Format
//
// A log is a directory of segments, 000001.cast, 000002.cast and so on. Each is
// an asciicast v3 file that plays alone: a header, one output event that
// repaints the whole terminal, then the events. The header carries den's own
// key, "den": {"v", "segment", "seq", "elapsed_us", "repaint", "sum"}, which
// places a segment in the session without reading earlier ones. The events of
// a segment are numbered from seq+1 on, one per line; the repaint and comments
// have no number. Players skip den's own event codes.
//
// # Ordering
//
// A segment appears under its name complete with header and repaint: these are
// written to a temporary file, which is renamed. Events are only appended to
// the newest segment, and a segment is finished before the next one appears.
// So a reader that sees segment N+1 and then reads segment N to its end has all
// of N. A last line without a newline does not count yet. Times never go back,
// whatever the clock does, and are whole microseconds since the session's start.
//
// # Ownership
//
// A Writer belongs to one goroutine. It starts at most one of its own, which
// syncs a finished segment, and Close waits for it. Readers take no lock and
// need no write permission; a Log holds no file open and may be shared. The
// Data of an Event belongs to the iterator and is valid until its next step.
package eventlog
