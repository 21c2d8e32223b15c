package transcript_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/transcript"
)

var at = time.Date(2026, 11, 16, 1, 2, 3, 0, time.UTC)

// line is one with the time of the tests.
func line(rest string) string { return `{"timestamp":"2026-11-16T01:02:03Z",` + rest + `}` }

func TestParse(t *testing.T) {
	two := 2
	for name, test := range map[string]struct {
		line string
		want []transcript.Entry
	}{
		"a prompt":     {line(`"type":"user","message":{"role":"user","content":"Tick 1 starting."}`), []transcript.Entry{{At: at, Kind: transcript.Prompt, Text: "Tick 1 starting."}}},
		"an answer":    {line(`"type":"assistant","message":{"content":[{"type":"text","text":"done"}]}`), []transcript.Entry{{At: at, Kind: transcript.Said, Text: "done"}}},
		"a text":       {line(`"type":"assistant","message":{"content":"done"}`), []transcript.Entry{{At: at, Kind: transcript.Said, Text: "done"}}},
		"a thought":    {line(`"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}`), []transcript.Entry{{At: at, Kind: transcript.Thought, Text: "hm"}}},
		"a tool":       {line(`"type":"assistant","message":{"content":[{"type":"tool_use","id":"x","name":"mcp__agent__type","input":{"tty":2,"text":"ls"}}]}`), []transcript.Entry{{At: at, Kind: transcript.Use, Tool: "type", Input: json.RawMessage(`{"tty":2,"text":"ls"}`), TTY: &two}}},
		"another tool": {line(`"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"path":"a"}}]}`), []transcript.Entry{{At: at, Kind: transcript.Use, Tool: "Read", Input: json.RawMessage(`{"path":"a"}`)}}},
		"a result":     {line(`"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}`), []transcript.Entry{{At: at, Kind: transcript.Result, Text: "ok"}}},
		"blocks":       {line(`"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"a"},{"type":"image"}]}]}`), []transcript.Entry{{At: at, Kind: transcript.Result, Text: "a\n(image)", Failed: true}}},
		"several":      {line(`"type":"assistant","message":{"content":[{"type":"text","text":"now"},{"type":"tool_use","name":"mcp__agent__login","input":{}}]}`), []transcript.Entry{{At: at, Kind: transcript.Said, Text: "now"}, {At: at, Kind: transcript.Use, Tool: "login", Input: json.RawMessage(`{}`)}}},
		"the end":      {line(`"type":"system","subtype":"tick_ended","detail":{"reason":"normal"}`), []transcript.Entry{{At: at, Kind: transcript.Note, Text: "tick ended", Detail: json.RawMessage(`{"reason":"normal"}`)}}},
		"usage":        {line(`"type":"system","subtype":"usage","detail":{}`), nil},
		"unknown":      {line(`"type":"summary","summary":"x"`), nil},
		"nothing said": {line(`"type":"assistant","message":{"content":[{"type":"text","text":" "}]}`), nil},
		"no message":   {line(`"type":"user"`), nil},
		"no time":      {`{"type":"user","message":{"content":"hi"}}`, []transcript.Entry{{Kind: transcript.Prompt, Text: "hi"}}},
		"empty":        {" ", nil},
		"damaged":      {`{"type":`, []transcript.Entry{{Kind: transcript.Note, Text: "a line that cannot be read"}}},
	} {
		if got := transcript.Parse([]byte(test.line)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// A line that is being written is not told by halves, and one that is too long
// does not end the reading.
func TestLines(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 17<<20) + `"}`
	var got []string
	err := transcript.Lines(strings.NewReader("one\r\n"+long+"\nthree\nfo"), func(l []byte) error {
		got = append(got, string(l))
		return nil
	})
	if err != nil || len(got) != 3 || got[0] != "one" || !strings.Contains(got[1], "line_too_long") || got[2] != "three" {
		t.Errorf("%d lines, %v", len(got), err)
	}
	stop := errors.New("stop")
	if err := transcript.Read(strings.NewReader(line(`"type":"user","message":{"content":"a"}`)+"\n"), func(transcript.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// FuzzParse: whatever a line is, it is no reason to fail.
func FuzzParse(f *testing.F) {
	f.Add(line(`"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__a__b","input":{"tty":1}}]}`))
	f.Add(`{"message":{"content":null},"type":"user"}`)
	f.Fuzz(func(t *testing.T, l string) {
		for _, e := range transcript.Parse([]byte(l)) {
			if e.Kind == "" {
				t.Errorf("%+v", e)
			}
		}
	})
}
