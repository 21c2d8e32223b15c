package codex

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/turn"
)

func TestInnerCommand(t *testing.T) {
	for line, want := range map[string]string{
		`/bin/bash -lc 'echo made > made'`: `echo made > made`,
		`bash -lc ls`:                      `ls`,
		`/bin/zsh -c "a \"b\" \$c \n"`:     `a "b" $c \n`,
		`/bin/bash -lc 'it'"'"'s'`:         `it's`,
		`/bin/bash -lc 'a' b`:              `/bin/bash -lc 'a' b`,
		`/bin/bash -lc 'open`:              `/bin/bash -lc 'open`,
		`python3 -c 'print(1)'`:            `python3 -c 'print(1)'`,
		`git status`:                       `git status`,
		`/bin/sh -c ''`:                    ``,
		`/bin/sh -c a\ b`:                  `a b`,
		`/bin/sh -c a\`:                    `/bin/sh -c a\`,
		``:                                 ``,
	} {
		if got := innerCommand(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func FuzzInnerCommand(f *testing.F) {
	f.Add(`/bin/bash -lc 'echo made > made'`)
	f.Add(`sh -c "a\`)
	f.Fuzz(func(t *testing.T, line string) {
		if inner := innerCommand(line); len(inner) > len(line) {
			t.Errorf("%q became longer: %q", line, inner)
		}
	})
}

func TestClassOf(t *testing.T) {
	for info, want := range map[string]runner.Class{
		`"unauthorized"`: runner.Auth, `{"httpConnectionFailed":{"httpStatusCode":403}}`: runner.Auth,
		`"usageLimitExceeded"`: runner.Quota, `"rateLimitExceeded"`: runner.Quota, `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`: runner.Quota,
		`"serverOverloaded"`: runner.Overload, `"internalServerError"`: runner.Overload, `{"responseStreamDisconnected":{"httpStatusCode":null}}`: runner.Overload,
		`"contextWindowExceeded"`: runner.Context,
		`"badRequest"`:            runner.Bug, `"other"`: runner.Bug, `"a new word"`: runner.Bug, `{"a":5}`: runner.Bug, `{}`: runner.Bug, `null`: runner.Bug, ``: runner.Bug,
	} {
		if got := classOf(json.RawMessage(info)); got != want {
			t.Errorf("%s: %s, want %s", info, got, want)
		}
	}
}

// A limit that was reached tells when it is lifted.
func TestLimit(t *testing.T) {
	soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	limits := &wire.RateLimits{
		Primary:   &wire.Limit{UsedPercent: 100, ResetsAt: soon.Unix()},
		Secondary: &wire.Limit{UsedPercent: 100, ResetsAt: later.Unix()},
	}
	s := &session{resets: resetsOf(limits)}
	if f := s.failureOf(&wire.TurnError{Info: json.RawMessage(`"usageLimitExceeded"`)}); f.RetryAfter < 59*time.Minute || f.RetryAfter > time.Hour {
		t.Errorf("%+v", f)
	}
	limits.Primary.UsedPercent, limits.Secondary.UsedPercent = 99, 10
	if !resetsOf(limits).IsZero() || !resetsOf(nil).IsZero() {
		t.Error("a limit that was not reached is lifted")
	}
}

// Two messages of a turn stay two, usage that is told again counts once, and a
// retry is no end.
func TestListener(t *testing.T) {
	s := &session{model: "m"}
	var kinds []runner.EventKind
	l := &listener{session: s, used: map[string]bool{}, each: func(e runner.Event) { kinds = append(kinds, e.Kind) }}
	for _, line := range []string{
		`{"method":"item/started","params":{"item":{"type":"userMessage","id":"1","content":[{"type":"text"}]}}}`,
		`{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"2","text":"one"}}}`,
		`{"method":"error","params":{"willRetry":true,"error":{"message":"busy","codexErrorInfo":"serverOverloaded"}}}`,
		`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":10,"outputTokens":5},"last":{"inputTokens":3,"outputTokens":2}}}}`,
		`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":10,"outputTokens":5},"last":{"inputTokens":3,"outputTokens":2}}}}`,
		`{"method":"item/completed","params":{"item":{"type":"webSearch","id":"3","query":"plums"}}}`,
		`{"method":"item/completed","params":{"item":{"type":"reasoning","id":"4","summary":["a"],"content":["b"]}}}`,
		`{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"5","text":"two"}}}`,
	} {
		m := &message{}
		if err := json.Unmarshal([]byte(line), m); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(m.Params, &m.about); err != nil {
			t.Fatal(err)
		}
		l.take(m)
	}
	result, err := l.end(&wire.Turn{Status: "completed"})
	want := []runner.EventKind{runner.Accepted, runner.Spoke, runner.Retrying, runner.Used, runner.Sized, runner.Spoke, runner.ToolFinished, runner.Spoke, runner.Spoke}
	if err != nil || result.Text != "two" || result.Usage != (runner.Usage{InputTokens: 3, OutputTokens: 2}) || !reflect.DeepEqual(kinds, want) {
		t.Errorf("%+v, %v, %v", result, err, kinds)
	}
}

// Whatever codex prints, reading it terminates without a panic.
func FuzzNotification(f *testing.F) {
	f.Add("item/completed", `{"item":{"type":"fileChange","id":"1","changes":[{"path":"a","kind":{"type":"add"}}],"status":"declined"}}`)
	f.Add("item/started", `{"item":{"type":"mcpToolCall","id":"1","server":"s","tool":"t","arguments":[1]}}`)
	f.Add("error", `{"willRetry":true,"error":{"codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":null}}}}`)
	f.Add(wire.Elicit, `{"requestedSchema":{"required":["x"]}}`)
	f.Add("account/rateLimits/updated", `{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":9000000000000000000}}}`)
	f.Fuzz(func(t *testing.T, method, params string) {
		m := &message{Message: jsonrpc.Message{Method: method, Params: json.RawMessage(params)}}
		if json.Unmarshal(m.Params, &m.about) != nil {
			return
		}
		s := &session{patches: map[string][]string{}, questions: turn.NewQuestions(nil)}
		s.notice(m)
		l := &listener{session: s, used: map[string]bool{}, each: func(runner.Event) {}}
		l.take(m)
		if _, answer := s.requestOf(m); answer != nil {
			answer(permission.Decision{})
		}
		if m.about.Turn != nil {
			if _, err := l.end(m.about.Turn); err == nil && m.about.Turn.Status == "failed" {
				t.Error("a failed turn is no failure")
			}
		}
	})
}

func TestAnswers(t *testing.T) {
	s := &session{patches: map[string][]string{"item": {"/a", "/b"}}}
	for _, c := range []struct {
		method, params string
		decision       permission.Decision
		want           permission.Request
		answer         string
	}{
		{wire.ApproveCommand, `{"command":"bash -lc ls","cwd":"/d","reason":"why"}`, permission.Decision{Allow: true},
			permission.Request{Tool: "shell", Kind: permission.Execute, Command: "ls", Dir: "/d", Text: "why"}, `{"decision":"accept"}`},
		{wire.ApproveCommand, `{"command":"bash -lc ls"}`, permission.Decision{Allow: true, Always: true},
			permission.Request{Tool: "shell", Kind: permission.Execute, Command: "ls"}, `{"decision":"accept"}`},
		{wire.ApproveCommand, `{"networkApprovalContext":{"host":"example.org","protocol":"https"}}`, permission.Decision{},
			permission.Request{Tool: "shell", Kind: permission.Fetch, URL: "https://example.org"}, `{"decision":"decline"}`},
		{wire.ApproveFiles, `{"itemId":"item","grantRoot":"/r"}`, permission.Decision{Interrupt: true},
			permission.Request{Tool: "apply_patch", Kind: permission.Edit, Paths: []string{"/r", "/a", "/b"}}, `{"decision":"cancel"}`},
		{wire.ApprovePermissions, `{"permissions":{"network":{"enabled":true}}}`, permission.Decision{Allow: true, Always: true},
			permission.Request{Tool: "request_permissions", Kind: permission.Other}, `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`},
		{wire.ApprovePermissions, `{"permissions":{"network":{"enabled":true}}}`, permission.Decision{},
			permission.Request{Tool: "request_permissions", Kind: permission.Other}, `{"permissions":{},"scope":"turn"}`},
		{wire.Elicit, `{"serverName":"files","message":"may it?"}`, permission.Decision{Allow: true},
			permission.Request{Tool: "mcp__files", Kind: permission.Other, Text: "may it?"}, `{"action":"accept","content":{},"_meta":null}`},
		{wire.Elicit, `{"serverName":"files","requestedSchema":{"required":["name"]}}`, permission.Decision{Allow: true},
			permission.Request{Tool: "mcp__files", Kind: permission.Other}, `{"action":"decline","content":null,"_meta":null}`},
		{wire.AskUser, `{"questions":[{"id":"q","question":"which?","options":[{"label":"this"},{"label":"that"}]}]}`, permission.Decision{Allow: true, Answer: "this"},
			permission.Request{Tool: "request_user_input", Kind: permission.Question, Text: "which?", Choices: []string{"this", "that"}}, `{"answers":{"q":{"answers":["this"]}}}`},
		{wire.AskUser, `{"questions":[{"id":"q","question":"which?"}]}`, permission.Decision{Allow: true},
			permission.Request{Tool: "request_user_input", Kind: permission.Question, Text: "which?"}, `{"answers":{"q":{"answers":["nobody answered: decide by yourself, or ask in your reply"]}}}`},
	} {
		m := &message{Message: jsonrpc.Message{Method: c.method, Params: json.RawMessage(c.params)}}
		if err := json.Unmarshal(m.Params, &m.about); err != nil {
			t.Fatal(err)
		}
		got, answer := s.requestOf(m)
		c.want.Input = m.Params
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.method, got, c.want)
		}
		if text, err := json.Marshal(answer(c.decision)); err != nil || string(text) != c.answer {
			t.Errorf("%s: %s, %v, want %s", c.method, text, err, c.answer)
		}
	}
	if _, answer := s.requestOf(&message{Message: jsonrpc.Message{Method: "no/such"}}); answer != nil {
		t.Error("an unknown request is answered")
	}
}
