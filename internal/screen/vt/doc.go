// Package vt is den's terminal emulator: bytes in, screen out.
//
// A [Terminal] does no I/O, reads no clock and starts no goroutine. What a
// program asks of it comes back as bytes from [Terminal.TakeReplies]; what it
// announces comes back from [Terminal.TakeMarks] and [Terminal.TakeNotes].
// The same bytes and the same resizes always give the same terminal, however
// the bytes were split into writes.
//
// A screen is rows of 8-byte cells. A cell holds a rune, or the number of an
// interned grapheme cluster, and the number of an interned style. A row of
// nothing but ASCII is a string and its styles until somebody asks for its
// cells. Rows that leave the main screen at its top go to the scrollback, where
// all but the newest are packed into a few bytes. Every table is bounded and
// swept of what no row uses, so no input can grow a terminal beyond its size
// and scrollback.
package vt
