package claude

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"time"

	"den/internal/agent/conversation"
)

// replyTo reads lines for the reply to a text that was handed over at a time.
func replyTo(lines []byte, text string, handed time.Time) (conversation.Reply, bool) {
	t := newTurn(conversation.Asked{Message: conversation.Message{Text: text}, Handed: handed})
	for line := range bytes.Lines(lines) {
		t.applyLine(line)
	}
	return t.reply, t.begun
}

func TestReplies(t *testing.T) {
	const (
		at     = `,"timestamp":"2026-11-15T12:00:00.500Z"`
		asked  = `{"type":"user"` + at + `,"message":{"role":"user","content":"hi"}}` + "\n"
		says   = `{"type":"assistant"` + at + `,"message":{"id":"a1","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}}` + "\n"
		more   = `{"type":"assistant"` + at + `,"message":{"id":"a1","content":[{"type":"text","text":"there"}],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":4}}}` + "\n"
		uses   = `{"type":"assistant"` + at + `,"message":{"id":"a0","content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"output_tokens":1}}}` + "\n"
		result = `{"type":"user"` + at + `,"message":{"content":[{"type":"tool_result","content":"hi"}]}}` + "\n"
		side   = `{"type":"assistant","isSidechain":true` + at + `,"message":{"id":"s","content":[{"type":"text","text":"aside"}]}}` + "\n"
		meta   = `{"type":"user","isMeta":true` + at + `,"message":{"content":"caveat"}}` + "\n"
		over   = `{"type":"system","subtype":"turn_duration","durationMs":1500` + at + `}` + "\n"
		esc    = `{"type":"user"` + at + `,"message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}` + "\n"
		next   = `{"type":"user","timestamp":"2026-11-15T12:01:00Z","message":{"content":"hi"}}` + "\n"
		fails  = `{"type":"assistant","isApiErrorMessage":true` + at + `,"message":{"id":"e","content":[{"type":"text","text":"API Error: 529"}]}}` + "\n"
		queued = `{"type":"attachment"` + at + `,"attachment":{"type":"queued_command","prompt":"hi"}}` + "\n"
	)
	handed := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		lines string
		want  conversation.Reply
		found bool
	}{
		{"nothing", over + says, conversation.Reply{}, false},
		{"a message", asked, conversation.Reply{}, true},
		{"a turn that runs", asked + says, conversation.Reply{Text: "hello"}, true},
		{"a turn", asked + says + over, conversation.Reply{Text: "hello", Ended: true, Duration: 1500 * time.Millisecond}, true},
		{"a message in two lines", asked + says + more + over, conversation.Reply{Text: "hello\nthere", Ended: true, Duration: 1500 * time.Millisecond}, true},
		{"a tool", asked + uses + result + says + over, conversation.Reply{Text: "hello", Ended: true, Duration: 1500 * time.Millisecond}, true},
		{"a subagent", asked + side + says + meta + over, conversation.Reply{Text: "hello", Ended: true, Duration: 1500 * time.Millisecond}, true},
		{"Esc", asked + uses + esc, conversation.Reply{Text: "I look.", Ended: true, Cancelled: true}, true},
		{"the next turn", asked + says + next + uses + over, conversation.Reply{Text: "hello", Ended: true}, true},
		{"an error", asked + fails + over, conversation.Reply{Text: "API Error: 529", Ended: true, Failure: "API Error: 529"}, true},
		{"a message that joined a turn", uses + queued + says + over, conversation.Reply{Text: "hello", Ended: true, Duration: 1500 * time.Millisecond}, true},
		{"garbage", asked + "{garbage\n7\n" + says + over, conversation.Reply{Text: "hello", Ended: true, Duration: 1500 * time.Millisecond}, true},
	} {
		got, found := replyTo([]byte(c.lines), "hi", handed)
		if got.Text != c.want.Text || got.Ended != c.want.Ended || got.Cancelled != c.want.Cancelled || got.Failure != c.want.Failure || got.Duration != c.want.Duration || found != c.found {
			t.Errorf("%s: %+v, %v", c.name, got, found)
		}
	}
	got, _ := replyTo([]byte(asked+uses+result+says+more+over), "hi", handed)
	if got.Usage != (conversation.Usage{InputTokens: 13, OutputTokens: 5}) || len(got.Tools) != 1 || got.Tools[0] != (conversation.ToolUse{Name: "Bash", Input: `{"command":"ls"}`}) || got.Certainty != conversation.Matched {
		t.Errorf("%+v", got)
	}
	if got, _ := replyTo([]byte(uses+queued+says), "hi", handed); got.Certainty != conversation.Likely || len(got.Tools) != 0 {
		t.Errorf("a message that joined a turn: %+v", got)
	}
	if got, found := replyTo([]byte(asked+says+over), "hi", handed.Add(time.Minute)); found {
		t.Errorf("a message from before has the reply %+v", got)
	}
}

// The lines were recorded from Claude Code 2.1.325, without those of other
// types: the same question twice, and a tool that was allowed.
func TestRecordedTranscript(t *testing.T) {
	data, err := os.ReadFile("testdata/transcript.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 16, 4, 44, 53, 0, time.UTC)
	for _, c := range []struct {
		text   string
		handed time.Time
		want   conversation.Reply
	}{
		{"which one?", first, conversation.Reply{Text: "The first.", Duration: 585 * time.Millisecond, Usage: conversation.Usage{InputTokens: 10, OutputTokens: 5}}},
		{"which one?", first.Add(time.Second), conversation.Reply{Text: "The second.", Duration: 87 * time.Millisecond, Usage: conversation.Usage{InputTokens: 10, OutputTokens: 5}}},
		{"make a file", first, conversation.Reply{
			Text: "It is made.", Duration: 673 * time.Millisecond, Usage: conversation.Usage{InputTokens: 20, OutputTokens: 10},
			Tools: []conversation.ToolUse{{Name: "Bash", Input: `{"command":"touch made","description":"make a file"}`}},
		}},
	} {
		c.want.Ended, c.want.Source, c.want.Certainty = true, RecordName, conversation.Matched
		if got, found := replyTo(data, c.text, c.handed); !found || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v", c.text, found, got, c.want)
		}
	}
	if got, found := replyTo(data, "which one?", first.Add(time.Minute)); found {
		t.Errorf("a later question has the reply %+v", got)
	}
}

func FuzzTranscript(f *testing.F) {
	data, err := os.ReadFile("testdata/transcript.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "make a file")
	f.Fuzz(func(t *testing.T, lines []byte, text string) {
		if r, found := replyTo(lines, text, time.Time{}); !found && (r.Text != "" || r.Ended) {
			t.Errorf("%+v", r)
		}
	})
}
