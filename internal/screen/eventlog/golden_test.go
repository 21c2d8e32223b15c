package eventlog_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestVersion1 reads a log of version 1 as it was first written. The files
// stay as they are for ever; a new version gets a directory of its own.
func TestVersion1(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	if *update {
		writeVersion1(t, dir)
	}
	var b strings.Builder
	segs, err := open(t, dir).Segments()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segs {
		fmt.Fprintf(&b, "%s after %d at %v, %dx%d %s %q %q\n", s.Name, s.Seq, s.Elapsed, s.Header.Cols, s.Header.Rows, s.Header.Term, s.Header.Command, s.Header.Title)
	}
	for _, ev := range whole(t, dir, 0) {
		fmt.Fprintf(&b, "%d %v %s %q\n", ev.Seq, ev.Time, ev.Code, ev.Data)
	}
	golden := filepath.Join(dir, "events.golden")
	if *update {
		put(t, golden, []byte(b.String()))
	}
	if want := string(read(t, golden)); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	for _, f := range segmentFiles(t, dir) {
		if err := strictV3(read(t, f)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// writeVersion1 is how the files were made.
func writeVersion1(t *testing.T, dir string) {
	t.Helper()
	if len(segmentFiles(t, dir)) > 0 {
		t.Fatal("the files are there; they must not change")
	}
	c := &clock{}
	o := options(c)
	o.Repaint = func() []byte { return []byte("\x1bc$ ls\r\n") }
	w := create(t, dir, o)
	for i, ev := range [][2]string{
		{"o", "$ "}, {"i", "ls\r"}, {"o", "ls\r\n\x1b[1;34mbin\x1b[0m é € 😀\r\n"}, {"o", "latin \xe9\r\n"}, {"h", `{"bytes":8}`},
		{"i", "\x1b[M\xff"}, {"r", "100x30"}, {"m", "before"}, {"c", `{"cell":"c1","state":"done"}`}, {"s", "TERM"}, {"n", `{"say":"hello"}`}, {"x", "143"},
	} {
		c.t += 123456789 * time.Nanosecond
		w.Append(ev[0], []byte(ev[1]))
		if i == 6 {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, w)
}
