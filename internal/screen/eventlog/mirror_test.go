package eventlog_test

import (
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
)

// A Mirror takes only what goes on with what it has.
func TestMirrorRefusesWhatDoesNotGoOn(t *testing.T) {
	dir := t.TempDir()
	header := originalHeader(t)
	m, err := eventlog.OpenMirror(dir)
	if err != nil {
		t.Fatal(err)
	}
	event := func(seq uint64) eventlog.Event {
		return eventlog.Event{Seq: seq, Time: time.Hour, Code: eventlog.Output, Data: []byte("x")}
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	refused("an event without a segment", m.Append(event(1)))
	refused("a header that is none", m.Begin(1, []byte("{}"), nil))
	refused("a newer version", m.Begin(1, []byte(`{"version":4}`), nil))
	refused("two lines", m.Begin(1, append(header, '\n'), nil))
	refused("a repaint that the header does not tell of", m.Begin(1, header, &eventlog.Event{Code: eventlog.Output}))
	if err := m.Begin(1, header, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Append(event(1)); err != nil {
		t.Fatal(err)
	}
	if err := m.Append(event(3)); fault.KindOf(err) != fault.Protocol {
		t.Errorf("an event is left out: %v", err)
	}
	refused("the same event again", m.Append(event(1)))
	early := event(2)
	early.Time = 0
	refused("a time before the last", m.Append(early))
	refused("a segment that begins earlier", m.Begin(2, header, nil))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err = eventlog.OpenMirror(dir); err != nil || m.Seq() != 1 {
		t.Fatalf("opened again: %v", err)
	}
	if err := m.Append(event(2)); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// originalHeader is the first line of a log without a repaint.
func originalHeader(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: 80, Rows: 24},
		Clock:  func() time.Duration { return 0 },
		Now:    time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := log.Header()
	if err != nil {
		t.Fatal(err)
	}
	return h.Raw
}
