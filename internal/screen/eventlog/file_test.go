package eventlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
)

// recordingOf exports a log as one file, as archives have it.
func recordingOf(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.cast")
	var b bytes.Buffer
	_, err := eventlog.WriteCast3(&b, open(t, dir), eventlog.CastOptions{})
	if err = errors.Join(err, os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFile(path string) (*eventlog.Log, error) {
	return eventlog.OpenFile(path, func() (*os.File, error) { return os.Open(path) })
}

// A recording is a log of one segment: numbers and times are the same wherever
// the reading begins.
func TestOpenFile(t *testing.T) {
	dir, shown := castLog(t)
	l, err := openFile(recordingOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	all, missing := collect(t, l, 0)
	if len(missing) > 0 || len(all) < 5 {
		t.Fatalf("%d events, missing %v", len(all), missing)
	}
	var out []byte
	for _, ev := range all {
		if data, ok := ev.Output(); ok {
			out = append(out, data...)
		}
	}
	if !bytes.HasPrefix(out, []byte(shown[:len("[repaint]one")])) {
		t.Errorf("output %q, want %q", out, shown)
	}
	for after := range all {
		rest, missing := collect(t, l, uint64(after))
		if len(missing) > 0 || len(rest) != len(all)-after || len(rest) > 0 && (rest[0].Seq != all[after].Seq || rest[0].Time != all[after].Time) {
			t.Errorf("after %d: %d events of %d, missing %v", after, len(rest), len(all), missing)
		}
	}
	last, err := l.Last()
	if end := all[len(all)-1]; err != nil || last.Seq != end.Seq || last.Elapsed != end.Time || last.Elapsed != time.Second {
		t.Errorf("the end is %+v, %v; the last event %+v", last, err, end)
	}
	r, err := l.ReplaySeq(2)
	if err != nil || r.Segment.Header.Cols != 80 {
		t.Fatalf("%+v, %v", r, err)
	}
	n := 0
	for _, err := range r.Events() {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d events up to event 2", n)
	}
}

func TestOpenFileThatIsNone(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want fault.Kind
	}{
		"empty":                {"", fault.Storage},
		"a header without end": {`{"version":3,"term":{"cols":80,"rows":24}}`, fault.Storage},
		"something else":       {"hello\n", fault.Storage},
		"another version":      {`{"version":2,"width":80,"height":24}` + "\n", fault.Protocol},
	} {
		path := filepath.Join(t.TempDir(), "recording.cast")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openFile(path); fault.KindOf(err) != test.want {
			t.Errorf("%s: %v (%s)", name, err, fault.KindOf(err))
		}
	}
	if _, err := openFile(filepath.Join(t.TempDir(), "none")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a missing file: %v", err)
	}
}
