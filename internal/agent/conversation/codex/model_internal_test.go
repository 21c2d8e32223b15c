package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
)

// begun is a server on which the screen has begun a thread.
const begun = `{"method":"thread/started","params":{"thread":{"id":"t","status":{"type":"idle"},"threadSource":"user"}}}`

func parseMessage(line []byte) (m jsonrpc.Message, err error) {
	err = json.Unmarshal(line, &m)
	return m, err
}

// activities replays messages, one a line, and returns the states that they go
// through.
func activities(t testing.TB, m *model, lines string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		msg, err := parseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.apply(msg); err != nil {
			t.Fatal(err)
		}
		s := m.state()
		text := string(s.Activity)
		if s.Question != nil {
			text += " " + s.Question.Text
		}
		if s.Why != "" {
			text += " (" + s.Why + ")"
		}
		if len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	return all
}

// The messages were recorded from codex 0.166.0: a turn, an approval that was
// cancelled with Esc, one that was accepted, one that was cancelled, and a
// model that fails. Hidden threads make titles meanwhile.
func TestRecordedMessages(t *testing.T) {
	data, err := os.ReadFile("testdata/notifications.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{}
	m.put(thread{ID: "01a1e070-7bf5-7bc3-8ab1-9d0beafb46ca", Status: threadStatus{Type: "idle"}})
	const asks = "asking /bin/bash -lc 'touch made"
	want := []string{
		"busy", "ready",
		"busy", "asking waitingOnApproval", asks + "0'", "asking waitingOnApproval", "busy", "ready",
		"busy", "asking waitingOnApproval", asks + "1'", "asking waitingOnApproval", "busy",
		"asking waitingOnApproval", asks + "2'", "asking waitingOnApproval", "busy", "ready",
		"busy", "failed", "failed (unexpected status 529 <unknown status code>: stub: status 529, url: http://127.0.0.1:18181/v1/responses)",
	}
	if got := activities(t, m, string(data)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStates(t *testing.T) {
	const (
		active  = `{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active","activeFlags":[]}}}`
		idle    = `{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"idle"}}}`
		input   = `{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active","activeFlags":["waitingOnUserInput"]}}}`
		hidden  = `{"method":"thread/started","params":{"thread":{"id":"h","ephemeral":true,"status":{"type":"active"}}}}`
		child   = `{"method":"thread/started","params":{"thread":{"id":"c","parentThreadId":"t","status":{"type":"active"}}}}`
		another = `{"method":"thread/started","params":{"thread":{"id":"u","status":{"type":"idle"}}}}`
		closed  = `{"method":"thread/closed","params":{"threadId":"t"}}`
		asks    = `{"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"t","itemId":"i","questions":[{"id":"q","question":"Which?","options":[{"label":"A"}]}]}}`
	)
	for _, c := range []struct {
		name     string
		messages []string
		want     string
	}{
		{"no thread yet", []string{`{"method":"configWarning","params":7}`}, "unknown (it has no thread yet)"},
		{"a thread", []string{begun}, "ready"},
		{"a turn", []string{begun, active}, "busy"},
		{"a thread that makes a title", []string{begun, hidden}, "ready"},
		{"a subagent works on", []string{begun, active, child, idle}, "busy"},
		{"a question of a thread that is not joined", []string{begun, input}, "asking waitingOnUserInput"},
		{"a question", []string{begun, input, asks}, "asking Which?"},
		{"a question whose turn ended", []string{begun, input, asks, idle}, "ready"},
		{"a status of a thread nobody knows", []string{active}, "unknown (it has no thread yet)"},
		{"a new thread", []string{begun, another}, "ready"},
		{"a thread that was closed", []string{begun, active, closed}, "unknown (it has no thread yet)"},
	} {
		all := activities(t, &model{}, strings.Join(c.messages, "\n"))
		if got := all[len(all)-1]; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMainIsTheThreadUsedLast(t *testing.T) {
	m := &model{}
	for _, id := range []string{"a", "b"} {
		m.put(thread{ID: id, Status: threadStatus{Type: "idle"}})
	}
	m.put(thread{ID: "h", Ephemeral: true})
	m.put(thread{ID: "c", Parent: "b"})
	if got := m.main().ID; got != "b" {
		t.Errorf("main is %q", got)
	}
	m.setStatus("a", threadStatus{Type: "active"})
	m.setStatus("a", threadStatus{Type: "idle"})
	if got := m.main().ID; got != "a" {
		t.Errorf("after a turn, main is %q", got)
	}
}

func TestAnswers(t *testing.T) {
	approval := request{question: conversation.Question{Kind: conversation.Permission, Options: []conversation.Option{{ID: accept}}}}
	if got, err := approval.answer(accept); err != nil || string(got) != `{"decision":"accept"}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := approval.answer("maybe"); err == nil {
		t.Error("'maybe' is an answer")
	}
	choice := (&request{}).input([]wire.Question{{ID: "q", Options: []struct {
		Label string `json:"label"`
	}{{Label: "Red"}}}})
	if got, err := choice.answer("Red"); err != nil || string(got) != `{"answers":{"q":{"answers":["Red"]}}}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestLaunch(t *testing.T) {
	e, argv, err := Launch([]string{"codex", "--model", "m", "-c", "a='b'", "--enable=x", "it's"}, "/run/den")
	if err != nil || e.Socket != "/run/den/codex.sock" || len(argv) != 3 {
		t.Fatalf("%v %q %v", e, argv, err)
	}
	for _, want := range []string{
		`'codex' 'app-server' '--listen' 'unix:///run/den/codex.sock' '-c' 'a='\''b'\''' '--enable=x' </dev/null`,
		`'codex' '--remote' 'unix:///run/den/codex.sock' '--model' 'm' '-c' 'a='\''b'\''' '--enable=x' 'it'\''s'`,
	} {
		if !strings.Contains(argv[2], want) {
			t.Errorf("%q is not in\n%s", want, argv[2])
		}
	}
	for _, argv := range [][]string{{"codex", "exec", "x"}, {"codex", "--remote", "unix://"}} {
		if _, _, err := Launch(argv, "/run/den"); err == nil {
			t.Errorf("%q gets a server", argv)
		}
	}
}

func FuzzMessages(f *testing.F) {
	data, err := os.ReadFile("testdata/notifications.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m := &model{}
		m.put(thread{ID: "01a1e070-7bf5-7bc3-8ab1-9d0beafb46ca"})
		msg, err := parseMessage(line)
		if err != nil || m.apply(msg) != nil {
			return
		}
		if s := m.state(); (s.Question != nil) != (s.Activity == conversation.Asking) {
			t.Errorf("%+v", s)
		}
	})
}

// A message that was added to a turn which has ended well may not have been
// asked about. Where the turn was interrupted or failed, that is nobody's
// mistake; where the status is not idle yet, the turn may go on.
func TestUnaskedMessages(t *testing.T) {
	const (
		active    = `{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active"}}}` + "\n"
		idle      = `{"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"idle"}}}` + "\n"
		started   = `{"method":"turn/started","params":{"threadId":"t","turn":{"status":"inProgress"}}}` + "\n"
		completed = `{"method":"turn/completed","params":{"threadId":"t","turn":{"status":"completed"}}}` + "\n"
	)
	interrupted := strings.Replace(completed, `"completed"}`, `"interrupted"}`, 1)
	for name, c := range map[string]struct {
		told  string
		added []string
		want  bool
	}{
		"a turn that ended well":   {active + started + completed + idle, []string{"m"}, true},
		"nothing added":            {active + started + completed + idle, nil, false},
		"a turn that runs":         {active + started, []string{"m"}, false},
		"an end that is not over":  {active + started + completed, []string{"m"}, false},
		"an interrupted turn":      {active + started + interrupted + idle, []string{"m"}, false},
		"an end that was not told": {active + idle, []string{"m"}, false},
		"the turn after it":        {active + started + completed + idle + active + started, []string{"m"}, false},
	} {
		m := &model{}
		activities(t, m, begun+"\n"+c.told)
		m.added = c.added
		if m.unasked() != c.want || c.want && m.state().Activity != conversation.Busy {
			t.Errorf("%s: unasked %v, %+v", name, m.unasked(), m.state())
		}
	}
}
