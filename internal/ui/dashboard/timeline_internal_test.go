package dashboard

import (
	"testing"

	"den/internal/screen/eventlog"
)

// Bells and notifications of the program stand among the marks.
func TestTimelineShowsNotifications(t *testing.T) {
	var line Timeline
	for i, n := range []eventlog.TerminalNote{
		{Kind: eventlog.TerminalBell},
		{Kind: eventlog.TerminalNotification, Text: "done"},
		{Kind: eventlog.TerminalNotification, Title: "build", Text: "done"},
		{Kind: eventlog.TerminalProgress, Progress: &eventlog.TerminalWork{State: "normal", Percent: 5}},
		{Kind: eventlog.TerminalClipboard, Text: "c"},
	} {
		line.add(eventlog.Event{Seq: uint64(i + 1), Code: eventlog.Note, Data: n.Encode()})
	}
	line.add(eventlog.Event{Seq: 9, Code: eventlog.Note, Data: []byte(`{"upgraded":"1"}`)})
	var labels []string
	for _, m := range line.Marks {
		labels = append(labels, m.Label)
	}
	want := []string{"bell", "done", "build: done"}
	if len(labels) != len(want) {
		t.Fatalf("marks %q, want %q", labels, want)
	}
	for i := range want {
		if labels[i] != want[i] {
			t.Errorf("mark %d is %q, want %q", i, labels[i], want[i])
		}
	}
}
