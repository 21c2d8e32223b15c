package opencode

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent/conversation"
)

// activities replays a stream and returns the states that it goes through.
func activities(t testing.TB, stream []byte) []string {
	t.Helper()
	m := newModel()
	var all []string
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		e, ok, err := parseLine(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		if err := m.apply(e); err != nil {
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

// The stream was recorded from opencode 1.18.33: a turn, a permission that was
// rejected, a turn, a question, Esc in a turn, and a model that fails.
func TestRecordedStream(t *testing.T) {
	stream, err := os.ReadFile("testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ready", "busy", "ready",
		"busy", "asking bash touch made", "busy", "ready",
		"busy", "ready",
		"busy", "asking Which colour?", "busy", "ready",
		"busy", "ready",
		"busy", "busy (attempt 1 failed: stub: status 529)", "busy", "busy (attempt 2 failed: stub: status 529)", "ready",
	}
	if got := activities(t, stream); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStates(t *testing.T) {
	const (
		busy  = `data: {"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}`
		idle  = `data: {"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"idle"}}}`
		child = `data: {"type":"session.status","properties":{"sessionID":"ses_2","status":{"type":"busy"}}}`
		ask   = `data: {"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"edit"}}`
		fails = `data: {"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"no"}}}}`
	)
	for _, c := range []struct {
		name   string
		events []string
		want   conversation.Activity
	}{
		{"nothing yet", nil, conversation.Ready},
		{"a session asks while it is busy", []string{busy, ask}, conversation.Asking},
		{"a session is busy that asked before", []string{ask, busy}, conversation.Asking},
		{"a turn that ended took its question with it", []string{busy, ask, idle}, conversation.Ready},
		{"a subagent works on", []string{busy, child, idle}, conversation.Busy},
		{"an API error", []string{busy, fails, idle}, conversation.TurnFailed},
		{"work after an API error", []string{busy, fails, idle, busy}, conversation.Busy},
		{"a good turn after an API error", []string{busy, fails, idle, busy, idle}, conversation.Ready},
		{"events of other kinds", []string{`data: {"type":"pty.created","properties":7}`, ": comment", "event: x", busy}, conversation.Busy},
	} {
		got := "ready"
		if all := activities(t, []byte(strings.Join(c.events, "\n\n"))); len(all) > 0 {
			got = all[len(all)-1]
		}
		if first, _, _ := strings.Cut(got, " "); first != string(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestQuestionsHaveOptions(t *testing.T) {
	m := newModel()
	for _, line := range []string{
		`data: {"type":"question.asked","properties":{"id":"que_1","sessionID":"s","questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}}`,
		`data: {"type":"question.asked","properties":{"id":"que_2","sessionID":"s","questions":[{"question":"One?"},{"question":"Two?","options":[{"label":"A"}]}]}}`,
	} {
		e, _, err := parseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.apply(e); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := m.find("que_1")
	if !one.question.Offers("A") || !one.question.Offers("B") || !one.question.Offers(reject) || one.question.Offers("C") {
		t.Errorf("%+v", one)
	}
	// Two questions at once cannot be answered by one option.
	two, _ := m.find("que_2")
	if two.question.Offers("A") || !two.question.Offers(reject) {
		t.Errorf("%+v", two)
	}
}

func TestMessageIDsAreOrderedByTime(t *testing.T) {
	at := time.UnixMilli(1794766155096)
	own := ownPart("n-1")
	id := messageID(own, at)
	// As opencode made them at that time.
	if want := "msg_1e0662d58001" + own; id != want || len(own) != ownLength {
		t.Errorf("%s, want %s", id, want)
	}
	if later := messageID(ownPart("n-2"), at.Add(time.Millisecond)); later <= id || ownPart("n-2") == own {
		t.Errorf("%s is not after %s", later, id)
	}
}

func TestNewest(t *testing.T) {
	at := time.UnixMilli(1000)
	session := func(id, parent string, updated int64) info {
		s := info{ID: id, ParentID: parent}
		s.Time.Updated = updated
		return s
	}
	all := []info{session("old", "", 900), session("older", "", 800), session("now", "", 1100), session("child", "now", 1200)}
	for _, c := range []struct {
		name     string
		sessions []info
		endpoint Endpoint
		want     string
	}{
		{"none since the start", all[:2], Endpoint{Started: at}, ""},
		{"the last used", all, Endpoint{Started: at}, "now"},
		{"the one it was started with", all[:2], Endpoint{Started: at, Session: "older"}, "older"},
		{"the last one of all", all[:2], Endpoint{Started: at, Continue: true}, "old"},
	} {
		if got := newest(c.sessions, c.endpoint); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLaunch(t *testing.T) {
	at := time.UnixMilli(1000)
	e, args, err := Launch([]string{"opencode", "--session=ses_1"}, at)
	if err != nil || e.Port == 0 || len(e.Password) < 20 || e.Session != "ses_1" || len(args) != 2 || args[0] != "--port" {
		t.Errorf("%v %q %v", e.Port, args, err)
	}
	if e, _, err = Launch([]string{"opencode", "-s", "ses_2", "-c"}, at); err != nil || e.Session != "ses_2" || !e.Continue {
		t.Errorf("%v %v %v", e.Session, e.Continue, err)
	}
	for _, argv := range [][]string{{"opencode", "--port", "1"}, {"opencode", "--port=1"}, {"opencode", "run", "x"}} {
		if _, _, err := Launch(argv, at); err == nil {
			t.Errorf("%q gets an endpoint", argv)
		}
	}
}

func FuzzEvents(f *testing.F) {
	stream, err := os.ReadFile("testdata/events.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(stream) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m := newModel()
		e, ok, err := parseLine(line)
		if err != nil || !ok || m.apply(e) != nil {
			return
		}
		if s := m.state(); (s.Question != nil) != (s.Activity == conversation.Asking) {
			t.Errorf("%+v", s)
		}
	})
}
