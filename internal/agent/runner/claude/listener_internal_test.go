package claude

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"den/internal/agent/runner"
)

func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		status int
		word   string
		want   runner.Class
	}{
		{401, "", runner.Auth}, {403, "unknown", runner.Auth}, {0, "authentication_failed", runner.Auth},
		{429, "rate_limit", runner.Quota}, {402, "", runner.Billing}, {0, "billing_error", runner.Billing},
		{529, "server_error", runner.Overload}, {500, "", runner.Overload}, {0, "overloaded", runner.Overload},
		{413, "", runner.Context}, {400, "invalid_request", runner.Bug}, {404, "", runner.Bug}, {0, "", runner.Bug},
	} {
		if got := classOf(c.status, c.word); got != c.want {
			t.Errorf("%d %q: %s, want %s", c.status, c.word, got, c.want)
		}
	}
}

// listen runs messages of a turn through a listener.
func listen(t *testing.T, s *session, lines ...string) ([]runner.Event, runner.Result, error) {
	t.Helper()
	var events []runner.Event
	l := &listener{session: s, prompt: "p", each: func(e runner.Event) { events = append(events, e) }}
	for i, line := range lines {
		m := &message{}
		if err := json.Unmarshal([]byte(line), m); err != nil {
			t.Fatal(err)
		}
		if i == len(lines)-1 {
			result, err := l.end(m)
			return events, result, err
		}
		l.take(m)
	}
	return events, runner.Result{}, nil
}

// A limit of the plan tells when it is lifted.
func TestPlanLimit(t *testing.T) {
	at := time.Now().Add(time.Hour).Unix()
	limit, err := json.Marshal(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{"status": "rejected", "resetsAt": at}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, got := listen(t, &session{}, string(limit), `{"type":"result","is_error":true,"api_error_status":429,"result":"used up"}`)
	f, ok := got.(*runner.Failure)
	if !ok || f.Class != runner.Quota || f.RetryAfter < 50*time.Minute || f.RetryAfter > time.Hour {
		t.Errorf("%+v", got)
	}
}

// What a subagent says is not what the agent says; what it uses is used.
func TestSubagent(t *testing.T) {
	events, result, err := listen(t, &session{},
		`{"type":"stream_event","parent_tool_use_id":"t","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"sub"}}}`,
		`{"type":"assistant","parent_tool_use_id":"t","message":{"model":"m","content":[{"type":"text","text":"sub"},{"type":"tool_use","id":"u","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"assistant","message":{"model":"m","content":"main"}}`,
		`{"type":"result","subtype":"success"}`)
	if err != nil || result.Text != "main" {
		t.Errorf("%+v, %v", result, err)
	}
	var said []string
	for _, e := range events {
		if e.Kind == runner.Partial {
			t.Errorf("told a part: %+v", e)
		}
		if e.Kind == runner.Spoke {
			said = append(said, e.Message.Text()+e.Message.Content[0].Name)
		}
	}
	if strings.Join(said, " ") != "Bash main" {
		t.Errorf("%q", said)
	}
}

// The blocks of one reply come one by one, and are told as parts of it. Replies
// of subagents are others'.
func TestReplyOfMessages(t *testing.T) {
	events, _, err := listen(t, &session{},
		`{"type":"assistant","message":{"id":"r1","model":"m","content":[{"type":"text","text":"I look."}]}}`,
		`{"type":"assistant","message":{"id":"r1","model":"m","content":[{"type":"tool_use","id":"u","name":"Task","input":{}}]}}`,
		`{"type":"assistant","parent_tool_use_id":"u","message":{"id":"s1","model":"m","content":[{"type":"tool_use","id":"v","name":"Bash","input":{}}]}}`,
		`{"type":"assistant","message":{"id":"r2","model":"m","content":[{"type":"text","text":"done"}]}}`,
		`{"type":"result","subtype":"success"}`)
	if err != nil {
		t.Fatal(err)
	}
	var replies []string
	for _, e := range events {
		if e.Kind == runner.Spoke {
			replies = append(replies, e.Reply)
		}
	}
	if got := strings.Join(replies, ","); got != "r1,r1,,r2" {
		t.Errorf("%q", got)
	}
}

// An agent that tells only the cost of the whole session is charged by turns,
// and not for turns of an earlier process.
func TestCostByGrowth(t *testing.T) {
	s := &session{resumed: true}
	for i, want := range []float64{0, 2, 0} {
		total := []string{"5", "7", "7"}[i]
		_, result, err := listen(t, s, `{"type":"result","total_cost_usd":`+total+`,"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}`)
		if err != nil || result.Usage != (runner.Usage{InputTokens: 3, OutputTokens: 3, CostUSD: want}) {
			t.Errorf("turn %d: %+v, %v", i+1, result.Usage, err)
		}
	}
}

// Whatever the agent prints, reading it terminates without a panic.
func FuzzListener(f *testing.F) {
	f.Add(`{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}`)
	f.Add(`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text"}]}]},"tool_result_meta":[{}]}`)
	f.Add(`{"type":"system","subtype":"api_retry","error":{"not":"a word"}}`)
	f.Add(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":9e18}}`)
	f.Fuzz(func(t *testing.T, line string) {
		m := &message{}
		if json.Unmarshal([]byte(line), m) != nil {
			return
		}
		l := &listener{session: &session{}, each: func(runner.Event) {}}
		l.take(m)
		if _, err := l.end(m); err == nil && m.IsError && !strings.HasPrefix(m.TerminalReason, "aborted") {
			t.Error("an error is no failure")
		}
		if m.Request != nil {
			requestOf(m.Request)
		}
	})
}
