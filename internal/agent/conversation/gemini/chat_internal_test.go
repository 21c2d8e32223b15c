package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// replyTo reads lines for the reply to a text that was handed over at a time.
func replyTo(lines []byte, text string, handed time.Time, ready bool) (conversation.Reply, bool) {
	var c chat
	for line := range bytes.Lines(lines) {
		c.applyLine(line)
	}
	return c.replyTo(conversation.Asked{Message: conversation.Message{Text: text}, Handed: handed}, ready)
}

const (
	start  = `{"sessionId":"s","projectHash":"p","startTime":"2026-11-15T11:00:00Z"}` + "\n"
	asked  = `{"id":"u1","timestamp":"2026-11-15T12:00:00Z","type":"user","content":[{"text":"hi"}]}` + "\n"
	noted  = `{"$set":{"lastUpdated":"2026-11-15T12:00:00Z"}}` + "\n"
	looks  = `{"id":"g0","timestamp":"2026-11-15T12:00:01Z","type":"gemini","content":"I look.","tokens":{"input":1,"output":1}}` + "\n"
	uses   = `{"id":"g0","timestamp":"2026-11-15T12:00:01Z","type":"gemini","content":"I look.","tokens":{"input":1,"output":1},"toolCalls":[{"id":"c","name":"run_shell_command","args":{"command":"ls"}}]}` + "\n"
	says   = `{"id":"g1","timestamp":"2026-11-15T12:00:02Z","type":"gemini","content":"hello","tokens":{"input":10,"output":5}}` + "\n"
	stops  = `{"id":"i1","timestamp":"2026-11-15T12:00:02Z","type":"info","content":"Request cancelled."}` + "\n"
	fails  = `{"id":"e1","timestamp":"2026-11-15T12:00:02Z","type":"error","content":"quota"}` + "\n"
	next   = `{"id":"u2","timestamp":"2026-11-15T12:01:00Z","type":"user","content":"hi"}` + "\n"
	again  = `{"id":"g2","timestamp":"2026-11-15T12:01:02Z","type":"gemini","content":"again"}` + "\n"
	rewind = `{"$rewindTo":"u1"}` + "\n"
	anew   = `{"$set":{"messages":[{"id":"u1","timestamp":"2026-11-15T12:00:00Z","type":"user","content":"hi"},{"id":"g1","type":"gemini","timestamp":"2026-11-15T12:00:02Z","content":[{"text":"hel"},{"text":"lo"}]}]}}` + "\n"
)

func TestReplies(t *testing.T) {
	handed := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		lines string
		ready bool
		want  conversation.Reply
		found bool
	}{
		{"nothing", start + noted, true, conversation.Reply{}, false},
		{"a message", start + asked, true, conversation.Reply{}, true},
		{"a reply", start + asked + noted + looks + uses + says, true, conversation.Reply{Text: "hello", Ended: true}, true},
		{"a reply of an agent that works", asked + looks, false, conversation.Reply{Text: "I look."}, true},
		{"Esc", asked + stops, true, conversation.Reply{Ended: true, Cancelled: true}, true},
		{"an error", asked + fails, true, conversation.Reply{Ended: true, Failure: "quota"}, true},
		{"the next turn", asked + says + next + again, false, conversation.Reply{Text: "hello", Ended: true}, true},
		{"a turn that was taken back", asked + says + rewind, true, conversation.Reply{}, false},
		{"a chat that was written anew", start + looks + anew, true, conversation.Reply{Text: "hello", Ended: true}, true},
		{"garbage", asked + "{garbage\n7\n" + says, true, conversation.Reply{Text: "hello", Ended: true}, true},
	} {
		got, found := replyTo([]byte(c.lines), "hi", handed, c.ready)
		if got.Text != c.want.Text || got.Ended != c.want.Ended || got.Cancelled != c.want.Cancelled || got.Failure != c.want.Failure || found != c.found {
			t.Errorf("%s: %+v, %v", c.name, got, found)
		}
	}
	got, _ := replyTo([]byte(asked+looks+uses+says), "hi", handed, true)
	if got.Usage != (conversation.Usage{InputTokens: 11, OutputTokens: 6}) || got.Duration != 2*time.Second || len(got.Tools) != 1 || got.Tools[0] != (conversation.ToolUse{Name: "run_shell_command", Input: `{"command":"ls"}`}) {
		t.Errorf("%+v", got)
	}
	if got, found := replyTo([]byte(asked+says), "hi", handed.Add(time.Second), true); found {
		t.Errorf("a message from before has the reply %+v", got)
	}
}

// The lines were recorded from Gemini CLI 0.61.0: the same question twice, and
// a tool that was allowed.
func TestRecordedChat(t *testing.T) {
	data, err := os.ReadFile("testdata/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 16, 4, 45, 12, 0, time.UTC)
	for _, c := range []struct {
		text   string
		handed time.Time
		reply  string
		tools  int
		tokens int64
	}{
		{"which one?", first, "The first.", 0, 5}, {"which one?", first.Add(time.Second), "The second.", 0, 5}, {"make a file", first, "It is made.", 1, 10},
	} {
		got, found := replyTo(data, c.text, c.handed, true)
		if !found || !got.Ended || got.Text != c.reply || len(got.Tools) != c.tools || got.Usage.OutputTokens != c.tokens || got.Duration <= 0 {
			t.Errorf("%s: %v, %+v", c.text, found, got)
		}
	}
}

// Of two agents that got the same text in one directory, nobody knows which
// chat is whose; a chat of another directory is another's.
func TestChatFiles(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, "tmp", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := conversation.Asked{Message: conversation.Message{ID: "m", Text: "hi"}, Handed: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	reply := func() (conversation.Reply, error) {
		var c chats
		return c.reply(chatFiles(home, []string{"/w"}, time.Now().Add(-time.Minute)), m, true)
	}
	write("other/.project_root", "/other")
	write("other/chats/session-1.jsonl", asked+again)
	if r, err := reply(); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%+v, %v", r, err)
	}
	write("w/.project_root", "/w\n")
	write("w/chats/session-1.jsonl", start+asked+says)
	write("w/chats/session-2.jsonl", start+again)
	if r, err := reply(); err != nil || r.Text != "hello" {
		t.Errorf("%+v, %v", r, err)
	}
	write("w/chats/session-2.jsonl", start+asked+again)
	if r, err := reply(); fault.KindOf(err) != fault.NotFound {
		t.Errorf("two chats: %+v, %v", r, err)
	}
}

func FuzzChat(f *testing.F) {
	data, err := os.ReadFile("testdata/chat.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "make a file")
	f.Add([]byte(start+asked+noted+uses+says+rewind+anew), "hi")
	f.Fuzz(func(t *testing.T, lines []byte, text string) {
		if r, found := replyTo(lines, text, time.Time{}, true); !found && (r.Text != "" || r.Ended) {
			t.Errorf("%+v", r)
		}
	})
}
