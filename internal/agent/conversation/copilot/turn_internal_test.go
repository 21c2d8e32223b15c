package copilot

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"time"

	"den/internal/agent/conversation"
)

// replyTo reads lines for the reply to a text that was handed over at a time.
func replyTo(lines []byte, text string, handed time.Time, ready bool) (conversation.Reply, bool) {
	t := newTurn(conversation.Asked{Message: conversation.Message{Text: text}, Handed: handed})
	for line := range bytes.Lines(lines) {
		t.applyLine(line)
	}
	return t.told(ready), t.id != ""
}

// The events were recorded from Copilot CLI 1.0.102: a permission that was
// denied with Esc, a question, and Esc in a turn.
func TestRecordedReplies(t *testing.T) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	record := conversation.Reply{Source: RecordName, Certainty: conversation.Matched, Ended: true}
	for text, change := range map[string]func(*conversation.Reply){
		"tool please": func(r *conversation.Reply) {
			r.Cancelled, r.Duration = true, 788*time.Millisecond
			r.Tools = []conversation.ToolUse{{Name: "bash", Input: `{"command":"touch made","description":"make a file"}`}}
		},
		"ask me": func(r *conversation.Reply) {
			r.Text, r.Duration = "thanks", 1075*time.Millisecond
			r.Tools = []conversation.ToolUse{{Name: "ask_user", Input: `{"question":"Which colour?","choices":["Red","Blue"]}`}}
		},
		"slow": func(r *conversation.Reply) { r.Cancelled = true },
	} {
		want := record
		change(&want)
		if got, found := replyTo(data, text, time.Time{}, true); !found || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v", text, found, got, want)
		}
		if got, found := replyTo(data, text, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), true); found {
			t.Errorf("%s, handed over later, has the reply %+v", text, got)
		}
	}
}

func TestReplies(t *testing.T) {
	const (
		asked   = `{"type":"user.message","timestamp":"2026-11-15T12:00:00Z","data":{"content":"hi","messageId":"m1"}}` + "\n"
		says    = `{"type":"assistant.message","timestamp":"2026-11-15T12:00:01Z","data":{"content":"hello","originatingMessageId":"m1"}}` + "\n"
		uses    = `{"type":"assistant.message","timestamp":"2026-11-15T12:00:01Z","data":{"content":"I look.","originatingMessageId":"m1","toolRequests":[{"name":"bash","arguments":{}}]}}` + "\n"
		others  = `{"type":"assistant.message","timestamp":"2026-11-15T12:00:01Z","data":{"content":"no","originatingMessageId":"m0"}}` + "\n"
		next    = `{"type":"user.message","timestamp":"2026-11-15T12:01:00Z","data":{"content":"hi","messageId":"m2"}}` + "\n"
		answers = `{"type":"assistant.message","timestamp":"2026-11-15T12:01:01Z","data":{"content":"again","originatingMessageId":"m2"}}` + "\n"
		fails   = `{"type":"session.error","timestamp":"2026-11-15T12:00:01Z","data":{"message":"quota"}}` + "\n"
		used    = `{"type":"session.usage_record","timestamp":"2026-11-15T12:00:01Z","data":{"usage":{"inputTokens":3,"outputTokens":2,"cost":0.5}}}` + "\n"
	)
	for _, c := range []struct {
		name  string
		lines string
		ready bool
		want  conversation.Reply
		found bool
	}{
		{"no message", says + others, true, conversation.Reply{}, false},
		{"a message", asked, true, conversation.Reply{}, true},
		{"a reply", asked + says, true, conversation.Reply{Text: "hello", Ended: true}, true},
		{"a reply of a session that works", asked + says, false, conversation.Reply{Text: "hello"}, true},
		{"a tool is used", asked + uses, true, conversation.Reply{Text: "I look."}, true},
		{"another's reply", asked + others, true, conversation.Reply{}, true},
		{"the next turn", asked + says + next + answers, false, conversation.Reply{Text: "hello", Ended: true}, true},
		{"an error", asked + fails, true, conversation.Reply{Failure: "quota", Ended: true}, true},
		{"a retry after an error", asked + fails + says, true, conversation.Reply{Text: "hello", Ended: true}, true},
		{"garbage", asked + "{garbage\n[]\n" + says, true, conversation.Reply{Text: "hello", Ended: true}, true},
		{"usage", asked + used + says + used, true, conversation.Reply{Text: "hello", Ended: true, Usage: conversation.Usage{InputTokens: 6, OutputTokens: 4, CostUSD: 1}}, true},
	} {
		got, found := replyTo([]byte(c.lines), "hi", time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), c.ready)
		if got.Text != c.want.Text || got.Ended != c.want.Ended || got.Failure != c.want.Failure || got.Usage != c.want.Usage || found != c.found {
			t.Errorf("%s: %+v, %v", c.name, got, found)
		}
	}
}

func FuzzReplies(f *testing.F) {
	data, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "ask me")
	f.Fuzz(func(t *testing.T, lines []byte, text string) {
		if r, found := replyTo(lines, text, time.Time{}, true); !found && (r.Text != "" || r.Ended) {
			t.Errorf("%+v", r)
		}
	})
}
