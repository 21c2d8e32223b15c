package conversation_test

import (
	"testing"
	"time"

	"den/internal/agent/conversation"
)

func TestAskedIs(t *testing.T) {
	handed := time.Date(2026, 11, 15, 12, 0, 0, 700_000, time.UTC)
	asked := conversation.Asked{Message: conversation.Message{Text: "run  the\ntests "}, Handed: handed}
	for _, c := range []struct {
		name string
		text string
		at   time.Time
		want bool
	}{
		{"the text", "run  the\ntests ", handed, true},
		{"other white space", "run the\r\ntests", handed.Add(time.Second), true},
		{"a clock of milliseconds", "run the tests", handed.Truncate(time.Millisecond), true},
		{"the same text from before", "run the tests", handed.Add(-time.Second), false},
		{"a text that begins with it", "run the tests again", handed, false},
		{"nothing", "", handed, false},
	} {
		if got := asked.Is(c.text, c.at); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
