package eventlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"den/internal/screen/eventlog"
)

// clock is a clock that tests set.
type clock struct{ t time.Duration }

func (c *clock) now() time.Duration { return c.t }

var wall = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func options(c *clock) eventlog.Options {
	return eventlog.Options{
		Header: eventlog.Header{
			Cols: 80, Rows: 24, Term: "xterm-256color", Command: "sh -c 'x < y'", Title: "tést",
			Env: map[string]string{"SHELL": "/bin/sh"},
		},
		Clock: c.now,
		Now:   func() time.Time { return wall.Add(c.t) },
	}
}

func create(t testing.TB, dir string, o eventlog.Options) *eventlog.Writer {
	t.Helper()
	w, err := eventlog.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func open(t testing.TB, dir string) *eventlog.Log {
	t.Helper()
	l, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func flush(t testing.TB, w *eventlog.Writer) {
	t.Helper()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, w *eventlog.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// owned is an event that outlives the iterator.
func owned(e eventlog.Event) eventlog.Event {
	e.Data = bytes.Clone(e.Data)
	return e
}

// collect reads all of a log, and what was missing.
func collect(t testing.TB, l *eventlog.Log, after uint64) (evs []eventlog.Event, missing []error) {
	t.Helper()
	for ev, err := range l.Events(after) {
		switch {
		case eventlog.Missing(err):
			missing = append(missing, err)
		case err != nil:
			t.Fatal(err)
		default:
			evs = append(evs, owned(ev))
		}
	}
	return evs, missing
}

// whole is collect of a log in which nothing may be missing.
func whole(t testing.TB, dir string, after uint64) []eventlog.Event {
	t.Helper()
	evs, missing := collect(t, open(t, dir), after)
	if len(missing) > 0 {
		t.Fatalf("missing: %v", errors.Join(missing...))
	}
	return evs
}

func sameEvents(a, b []eventlog.Event) error {
	for i := range min(len(a), len(b)) {
		if err := sameEvent(a[i], b[i]); err != nil {
			return fmt.Errorf("event %d of %d: %w", i, len(b), err)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d events, want %d", len(a), len(b))
	}
	return nil
}

func sameEvent(a, b eventlog.Event) error {
	if a.Seq != b.Seq || a.Time != b.Time || a.Code != b.Code || !bytes.Equal(a.Data, b.Data) || a.Repaint != b.Repaint {
		return fmt.Errorf("got %d %v %s %.80q, want %d %v %s %.80q", a.Seq, a.Time, a.Code, a.Data, b.Seq, b.Time, b.Code, b.Data)
	}
	return nil
}

func segmentFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.cast"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

var hostile = [][]byte{
	[]byte("plain text\r\n"), []byte("\x1b[38;5;196mred\x1b[0m"), []byte("héllo wörld"), []byte("日本語テキスト"),
	[]byte("\x00\x01\x02\x1f\x7f"), []byte(`"\"\\`), []byte("\u2028\u2029\ufffd"), []byte("😀👩‍👩‍👧"),
	{0xff, 0xfe, 0xc0, 0x80}, {0xe2, 0x82}, {0x82, 0xac}, {0xed, 0xa0, 0x80}, {0xf4, 0x90, 0x80, 0x80}, {}, []byte("</script>&"),
	[]byte(`\u0041`), []byte("]\n[0.0, \"o\", \"x\"]\n"), []byte("# not a comment\n"),
}

// hostileBytes is a mixture of what terminals carry and what they should not.
func hostileBytes(r *rand.Rand) []byte {
	var b []byte
	for range r.IntN(8) {
		if r.IntN(4) == 0 {
			n := r.IntN(40)
			for range n {
				b = append(b, byte(r.Uint32()))
			}
			continue
		}
		b = append(b, hostile[r.IntN(len(hostile))]...)
	}
	return b
}
