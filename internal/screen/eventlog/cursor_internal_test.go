package eventlog

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// TestCaughtUpReaderIsSmall: a reader that has caught up keeps little memory,
// whatever it has read before, and reads all that is written later.
func TestCaughtUpReaderIsSmall(t *testing.T) {
	w, err := Create(t.TempDir(), Options{
		Header: Header{Cols: 80, Rows: 24}, LimitBytes: 64 << 20,
		Clock: func() time.Duration { return 0 }, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l, err := Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := l.list()
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	c, err := l.openCursor(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	catchUp := func(events ...[]byte) {
		t.Helper()
		for _, data := range events {
			w.Append(Output, data)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, data := range events {
			var ev Event
			if err := c.next(&ev); err != nil || !bytes.Equal(ev.Data, data) {
				t.Fatalf("event %d: %d bytes (%v), want %d", i, len(ev.Data), err, len(data))
			}
		}
		if err := c.next(new(Event)); err != io.EOF {
			t.Fatalf("after the last event: %v", err)
		}
	}
	repaint := bytes.Repeat([]byte("\x1b[31ma line of a repaint\r\n"), 20_000)
	line := []byte("a line\r\n")
	for range 2 {
		catchUp(repaint, line, repaint)
		if len(c.buf) < len(repaint) {
			t.Fatalf("the buffer has %d bytes: the rest of this test shows nothing", len(c.buf))
		}
		catchUp(line)
		if len(c.buf) > followBuffer || cap(c.dec.scratch) > followBuffer {
			t.Errorf("a reader that has caught up keeps buffers of %d and %d bytes", len(c.buf), cap(c.dec.scratch))
		}
		for range 10 { // more at a time, and the end in the middle of it
			catchUp(bytes.Repeat(line, 300), line, bytes.Repeat(line, 2000))
		}
	}
}
