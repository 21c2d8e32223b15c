package codex

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/codex/wire"
)

// listOf reads items as the server lists them, the oldest first.
func listOf(t testing.TB, lines ...string) []listed {
	t.Helper()
	var all []listed
	if err := json.Unmarshal([]byte("["+strings.Join(lines, ",")+"]"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReplyIn(t *testing.T) {
	const (
		asked  = `{"turnId":"t1","item":{"type":"userMessage","clientId":"m1","content":[{"type":"text","text":"hi"}],"startedAtMs":1000}}`
		typed  = `{"turnId":"t1","item":{"type":"userMessage","clientId":null,"content":[{"type":"text","text":"hi"}],"startedAtMs":1000}}`
		before = `{"turnId":"t0","item":{"type":"userMessage","clientId":null,"content":[{"type":"text","text":"hi"}],"startedAtMs":500}}`
		old    = `{"turnId":"t0","item":{"type":"agentMessage","text":"old"}}`
		says   = `{"turnId":"t1","item":{"type":"agentMessage","text":"hello"}}`
		looks  = `{"turnId":"t1","item":{"type":"agentMessage","text":"I look."}}`
		runs   = `{"turnId":"t1","item":{"type":"commandExecution","command":"ls","cwd":"/"}}`
		thinks = `{"turnId":"t1","item":{"type":"reasoning","summary":[],"content":["hm"]}}`
		joins  = `{"turnId":"t1","item":{"type":"userMessage","clientId":"m2","content":[{"type":"text","text":"and?"}],"startedAtMs":2000}}`
		late   = `{"turnId":"t2","item":{"type":"agentMessage","text":"later"}}`
		next   = `{"turnId":"t2","item":{"type":"userMessage","clientId":"m3","content":[{"type":"text","text":"next"}]}}`
	)
	m := conversation.Asked{Message: conversation.Message{ID: "m1", Text: "hi"}, Handed: time.UnixMilli(900)}
	for _, c := range []struct {
		name      string
		items     []string
		text      string
		turn      string
		certainty conversation.Certainty
		tools     int
		found     bool
	}{
		{"nothing", []string{old}, "", "", "", 0, false},
		{"a message", []string{old, asked}, "", "t1", conversation.Exact, 0, true},
		{"a reply", []string{before, old, asked, thinks, looks, runs, says}, "hello", "t1", conversation.Exact, 1, true},
		{"a message that was typed", []string{before, old, typed, says}, "hello", "t1", conversation.Matched, 0, true},
		{"a message from before", []string{before, old}, "", "", "", 0, false},
		{"the next turn", []string{asked, says, next, late}, "hello", "t1", conversation.Exact, 0, true},
		{"a turn without a reply, and the next", []string{asked, next, late}, "", "t1", conversation.Exact, 0, true},
		{"a message that joined the turn", []string{asked, joins, says}, "hello", "t1", conversation.Likely, 0, true},
		{"a message that came too late for its turn", []string{asked, late}, "later", "t2", conversation.Exact, 0, true},
	} {
		r, turn, found := replyIn(listOf(t, c.items...), m)
		if r.Text != c.text || turn != c.turn || r.Certainty != c.certainty || len(r.Tools) != c.tools || found != c.found {
			t.Errorf("%s: %+v, turn %q, %v", c.name, r, turn, found)
		}
	}
}

// The items were recorded from codex 0.166.0: a question that was typed, the
// same through the server, and a tool that was allowed.
func TestRecordedItems(t *testing.T) {
	items := recordedItems(t)
	first := time.UnixMilli(1794804299000)
	for _, c := range []struct {
		id, text  string
		handed    time.Time
		reply     string
		certainty conversation.Certainty
		tools     int
	}{
		{"q-0", "which one?", first, "The first.", conversation.Matched, 0},
		{"q-1", "which one?", first, "The second.", conversation.Exact, 0},
		{"q-file", "make a file", first, "It is made.", conversation.Exact, 1},
	} {
		m := conversation.Asked{Message: conversation.Message{ID: c.id, Text: c.text}, Handed: c.handed}
		r, turn, found := replyIn(items, m)
		if !found || r.Text != c.reply || r.Certainty != c.certainty || len(r.Tools) != c.tools || turn == "" {
			t.Errorf("%s: %v, %+v", c.id, found, r)
		}
	}
}

func recordedItems(t testing.TB) []listed {
	t.Helper()
	data, err := os.ReadFile("testdata/items.json")
	if err != nil {
		t.Fatal(err)
	}
	var items []listed
	if err := json.Unmarshal(data, &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		name   string
		status string
		text   string
		idle   bool
		want   conversation.Reply
	}{
		{"a turn that runs", "inProgress", "I look.", false, conversation.Reply{}},
		{"a turn that ended", "completed", "hello", false, conversation.Reply{Ended: true}},
		{"a turn that said nothing", "completed", "", true, conversation.Reply{}},
		{"a turn of which nothing was told", "", "hello", true, conversation.Reply{Ended: true}},
		{"a turn that somebody ended", "interrupted", "", false, conversation.Reply{Ended: true, Cancelled: true}},
		{"a turn that failed", "failed", "", false, conversation.Reply{Ended: true, Failure: "quota"}},
	} {
		n := turnNote{Turn: wire.Turn{Status: c.status, Error: &wire.TurnError{Message: "quota"}}}
		got := n.complete(conversation.Reply{Text: c.text}, c.idle)
		if got.Ended != c.want.Ended || got.Cancelled != c.want.Cancelled || got.Failure != c.want.Failure {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestTurnsAreNoted(t *testing.T) {
	m := &model{}
	activities(t, m, begun+"\n"+`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"t1","status":"inProgress","durationMs":null}}}
{"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"t1","tokenUsage":{"last":{"inputTokens":10,"outputTokens":5}}}}
{"method":"thread/tokenUsage/updated","params":{"threadId":"t","turnId":"t1","tokenUsage":{"last":{"inputTokens":1,"outputTokens":1}}}}
{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"t1","status":"completed","durationMs":446}}}
`)
	n := m.turn("t1")
	if !n.over() || n.DurationMs != 446 || n.usage != (conversation.Usage{InputTokens: 11, OutputTokens: 6}) {
		t.Errorf("%+v", n)
	}
	for range 2 * maxTurns {
		m.turn(strings.Repeat("x", len(m.turns)+1))
		m.turn(time.Now().String())
	}
	if len(m.turns) > maxTurns {
		t.Errorf("%d turns are remembered", len(m.turns))
	}
}

func FuzzReplyIn(f *testing.F) {
	f.Add([]byte(`[{"turnId":"t1","item":{"type":"userMessage","clientId":"m1","content":[{"text":"hi"}]}},{"turnId":"t1","item":{"type":"agentMessage","text":"x"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var items []listed
		if json.Unmarshal(data, &items) != nil {
			return
		}
		r, _, found := replyIn(items, conversation.Asked{Message: conversation.Message{ID: "m1", Text: "hi"}})
		if !found && (r.Text != "" || len(r.Tools) > 0) {
			t.Errorf("%+v", r)
		}
	})
}
