package mcp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// talkative is a harness that answers what is asked over its socket, and notes
// it.
type talkative struct {
	*ipc.Server
	socket string

	mu    sync.Mutex // guards asked
	asked []ipc.Request
}

func newTalkative(t *testing.T) *talkative {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "den-th-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	h := &talkative{socket: filepath.Join(dir, "s")}
	h.Server = ipc.NewServer(h.answer)
	l, err := rpc.Listen(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { h.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		os.RemoveAll(dir) // Best effort: a temporary directory.
	})
	return h
}

func (h *talkative) answer(_ context.Context, r ipc.Request, _ *ipc.Client) (any, []string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	switch r.Type {
	case ipc.Send:
		if r.Channel == "nobody" {
			return nil, nil, fault.Hintf(fault.Errorf(fault.NotFound, "nobody there"), "look who is")
		}
		return ipc.Sent{Channel: r.Channel}, []string{"it was cut"}, nil
	case ipc.Read:
		return ipc.Messages{Messages: []ipc.Line{{Seq: 7, Nick: "bob", Text: "hi", At: at}}, Dropped: 2}, nil, nil
	case ipc.Ask:
		return ipc.Reply{Nick: "bob", Text: "seven", At: at}, nil, nil
	case ipc.Who:
		return ipc.People{People: []ipc.Person{{Nick: "bob", Away: true}, {Nick: "fox", Agent: true, Tags: []string{"go"}}}}, nil, nil
	case ipc.Channels:
		return ipc.Joined{Channels: []string{"#a", "#b"}}, nil, nil
	case ipc.Topic:
		return ipc.ChannelTopic{Channel: r.Channel, Topic: "birds"}, nil, nil
	}
	return nil, nil, nil
}

// last is the newest request.
func (h *talkative) last() ipc.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[len(h.asked)-1]
}

// An agent of a harness talks in channels by tools as 'den channel' does.
func TestChannelTools(t *testing.T) {
	t.Parallel()
	h := newTalkative(t)
	w := newWorldIn(t, []string{"DEN_NICK=fox", "DEN_HARNESS=" + h.socket})
	topic := "new"
	for _, c := range []struct {
		tool      string
		arguments values
		text      string
		key       string
		want      ipc.Request
	}{
		{"channel_send", values{"target": "#a", "text": "done"}, "warning: it was cut\nsent to #a", "channel", ipc.Request{Type: ipc.Send, Channel: "#a", Message: "done"}},
		{"channel_read", values{"target": "#a"}, "(2 older messages are no longer kept)\n03:04:05 <bob> hi", "messages", ipc.Request{Type: ipc.Read, Channel: "#a"}},
		{"channel_read", values{"target": "bob", "limit": 3}, "(2 older messages are no longer kept)\n03:04:05 <bob> hi", "messages", ipc.Request{Type: ipc.Read, Channel: "bob", Limit: 3}},
		{"channel_ask", values{"target": "#a", "text": "@bob which?", "timeout": 5}, "<bob> seven", "nick", ipc.Request{Type: ipc.Ask, Channel: "#a", Message: "@bob which?", Timeout: 5}},
		{"channel_ask", values{"target": "#a", "text": "@bob which?"}, "<bob> seven", "nick", ipc.Request{Type: ipc.Ask, Channel: "#a", Message: "@bob which?", Timeout: 30}},
		{"channel_who", values{"target": "#a"}, "bob, away\nfox (agent) tags: go", "people", ipc.Request{Type: ipc.Who, Target: "#a"}},
		{"channel_list", nil, "#a\n#b", "channels", ipc.Request{Type: ipc.Channels}},
		{"channel_join", values{"channel": "#c"}, "joined", "", ipc.Request{Type: ipc.Join, Channel: "#c"}},
		{"channel_part", values{"channel": "#c"}, "left", "", ipc.Request{Type: ipc.Part, Channel: "#c"}},
		{"channel_topic", values{"channel": "#c"}, "birds", "topic", ipc.Request{Type: ipc.Topic, Channel: "#c"}},
		{"channel_topic", values{"channel": "#c", "topic": "new"}, "birds", "topic", ipc.Request{Type: ipc.Topic, Channel: "#c", Topic: &topic}},
	} {
		text, value := w.call(c.tool, c.arguments)
		if text != c.text || c.key != "" && value[c.key] == nil {
			t.Errorf("%s %v: %q, %v", c.tool, c.arguments, text, value)
		}
		got := h.last()
		got.ID = ""
		if got.Topic != nil && c.want.Topic != nil && *got.Topic == *c.want.Topic {
			got.Topic = c.want.Topic
		}
		if !sameRequest(got, c.want) {
			t.Errorf("%s %v: asked %+v, want %+v", c.tool, c.arguments, got, c.want)
		}
	}
	w.refuse("channel_send", values{"target": "nobody", "text": "x"}, "nobody there", "look who is")
	w.refuse("channel_send", values{"target": "#a"}, "text is missing")
	w.refuse("channel_send", values{"text": "x"}, "target is missing")
	w.refuse("channel_ask", values{"target": "#a", "text": "x", "timeout": 0}, "more than 0")
	w.refuse("channel_read", values{"target": "#a", "limit": 0}, "from 1 to")
	w.refuse("channel_join", nil, "channel is missing")
	w.refuse("channel_who", values{"channel": "#a"}, "unknown field")
}

func sameRequest(a, b ipc.Request) bool {
	return a.Type == b.Type && a.Channel == b.Channel && a.Message == b.Message && a.Target == b.Target && a.Limit == b.Limit && a.Timeout == b.Timeout && a.Topic == b.Topic
}

// What the supervisor has for the agent comes with the next answer, also with
// one that is an error.
func TestWhispersComeWithAnswers(t *testing.T) {
	t.Parallel()
	h := newTalkative(t)
	w := newWorldIn(t, []string{"DEN_HARNESS=" + h.socket})
	h.Whisper("CORRECTION", "go straight on")
	text, value := w.call("channel_list", nil)
	if text != "[whisper:CORRECTION] go straight on\n#a\n#b" || value["said"] == nil || value["channels"] == nil {
		t.Errorf("%q, %v", text, value)
	}
	h.Whisper("CORRECTION", "and on")
	w.refuse("channel_send", values{"target": "nobody", "text": "x"}, "nobody there", "[whisper:CORRECTION] and on", "look who is")
	if text, _ := w.call("channel_list", nil); strings.Contains(text, "whisper") {
		t.Errorf("heard twice: %q", text)
	}
}

// Who is no agent of a harness has no channels; an agent whose harness is gone
// is told so.
func TestChannelToolsAreForAgents(t *testing.T) {
	t.Parallel()
	list, _ := offer(options{}, func(string) string { return "" })
	overHTTP, _ := offer(options{http: true}, func(string) string { return "/socket" })
	if len(list) != len(tools()) || len(overHTTP) != len(tools()) {
		t.Errorf("%d and %d tools, want %d", len(list), len(overHTTP), len(tools()))
	}
	w := newWorldIn(t, []string{"DEN_NICK=fox", "DEN_HARNESS=" + filepath.Join(t.TempDir(), "gone")})
	w.refuse("channel_list", nil, "no harness listens")
	if text, _ := w.call("list", nil); !strings.Contains(text, "no terminals") {
		t.Errorf("the terminals: %q", text)
	}
}
