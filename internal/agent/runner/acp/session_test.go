package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
)

func classOf(err error) runner.Class {
	var f *runner.Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return ""
}

// Whatever an agent prints beside its messages, and in whichever shape it
// sends them, the turn comes through whole.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	s := st.mustOpen(t)
	long := strings.Repeat("x", 3<<20)
	text := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`
	events, result, err := play(t, s, script{
		Lines: []string{
			"npm WARN deprecated", `{"half":`, "[]", "null", `{}`, `{"id":99,"result":{}}`, `{"id":{},"result":{}}`, `{"id":"x","error":"bad"}`,
			`{"jsonrpc":"2.0","method":"_vendor/news","params":{"a":1}}`, `{"jsonrpc":"2.0","method":7}`,
			`{"jsonrpc":"2.0","method":"session/update"}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"made_up","content":5}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"made_up","content":6}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not ours"}}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":7,"kind":"made_up","content":[{"type":"made_up"}],"locations":"none"}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}`,
			fmt.Sprintf(text, "one "), fmt.Sprintf(text, long), fmt.Sprintf(text, " two"),
		},
		Flood: 3000,
		Raw:   `{"result":{"stopReason":"end_turn","usage":{"inputTokens":"many"}},"jsonrpc":"2.0","id":"ID"}`,
	})
	if err != nil || result.Cancelled {
		t.Fatalf("%+v, %v\n%s", result, err, st.logged.String())
	}
	all := said(events)
	if want := "one " + long + " two" + strings.Repeat("flood\n", 3000); all != want {
		t.Errorf("%d bytes, want %d: %.60q", len(all), len(want), all)
	}
	s.Close()
	counted := `messages of unknown kinds: "notification _vendor/news" 1, "update made_up" 2, "update that is not of this session" 2`
	for _, part := range []string{"npm WARN", "update made_up", "_vendor/news", "not of this session", counted} {
		if !strings.Contains(st.logged.String(), part) {
			t.Errorf("the log says nothing of %s", part)
		}
	}
}

// An answer of any shape ends the turn.
func TestTurnEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t).mustOpen(t)
	for _, c := range []struct {
		script script
		class  runner.Class
		cancel bool
		says   string
	}{
		{script: script{Flood: 1}},
		{script: script{}, class: runner.Bug, says: "without a word"},
		{script: script{Stop: "cancelled"}, cancel: true},
		{script: script{Stop: "max_tokens"}, class: runner.Context},
		{script: script{Stop: "max_turn_requests"}, class: runner.Bug},
		{script: script{Stop: "refusal"}, class: runner.Bug},
		{script: script{Stop: "something_new"}},
		{script: script{Raw: `{"id":ID,"result":null}`}},
		{script: script{Raw: `{"id":ID,"result":[]}`}},
		{script: script{Raw: `{"id":ID,"error":"all went wrong"}`}, class: runner.Bug, says: "all went wrong"},
		{script: script{Raw: `{"id":ID,"error":{"code":"E1","message":5}}`}, class: runner.Bug, says: "5"},
		{script: script{Error: json.RawMessage(`{"code":-32000,"message":"Authentication required"}`)}, class: runner.Auth},
		{script: script{Error: json.RawMessage(`{"code":429,"message":"slow down"}`)}, class: runner.Quota},
		{script: script{Error: json.RawMessage(`{"code":-32603,"message":"Internal error","data":{"error":{"status":529,"message":"overloaded"}}}`)}, class: runner.Overload, says: "overloaded"},
		{script: script{Error: json.RawMessage(`{"code":-32603,"message":"Internal error","data":{"statusCode":401}}`)}, class: runner.Auth},
		{script: script{Error: json.RawMessage(`{"code":-32603,"message":"Internal error","data":"it broke"}`)}, class: runner.Bug, says: "it broke"},
	} {
		_, result, err := play(t, s, c.script)
		if classOf(err) != c.class || (err != nil) != (c.class != "") || result.Cancelled != c.cancel {
			t.Errorf("%s: %+v, %v", c.script, result, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.script, err, c.says)
		}
	}
}

// What the protocol has no place for stands before the first prompt of a new
// session, and there alone.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.options.SystemPrompt = "be brief"
	s := st.mustOpen(t)
	for _, want := range []string{"prompt be brief\n\n", "prompt "} {
		events, _, err := play(t, s, script{Echo: true})
		if lines := strings.SplitAfter(said(events), "prompt "); err != nil || !strings.HasSuffix(said(events), want+"\n") {
			t.Errorf("%q, %v; want %q", lines, err, want)
		}
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	load := `{"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`
	for name, c := range map[string]struct {
		answers map[string]string
		resume  string
		class   runner.Class
		says    string
	}{
		"version":    {map[string]string{"initialize": `{"result":{"protocolVersion":2}}`}, "", runner.Bug, "version 2"},
		"initialize": {map[string]string{"initialize": `{"error":{"code":-32603,"message":"no"}}`}, "", runner.Bug, "no"},
		"auth": {map[string]string{
			"initialize":  `{"result":{"protocolVersion":1,"authMethods":[{"id":"l","name":"Login","description":"run x login"}]}}`,
			"session/new": `{"error":{"code":-32000,"message":"Authentication required"}}`,
		}, "", runner.Auth, "Login (run x login)"},
		"no id":        {map[string]string{"session/new": `{"result":{}}`}, "", runner.Bug, "without an id"},
		"cannot load":  {nil, "s0", runner.NoSession, "cannot resume"},
		"not there":    {map[string]string{"initialize": load, "session/load": `{"error":{"code":-32603,"message":"Internal error","data":{"details":"no such session"}}}`}, "s0", runner.NoSession, "no such session"},
		"not found":    {map[string]string{"initialize": load, "session/load": `{"error":{"code":-32002,"message":"Resource not found"}}`}, "s0", runner.NoSession, "not found"},
		"load, logout": {map[string]string{"initialize": load, "session/load": `{"error":{"code":-32000,"message":"Authentication required"}}`}, "s0", runner.Auth, "required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			st.options.Resume = c.resume
			for method, answer := range c.answers {
				st.answers[method] = answer
			}
			_, err := st.open(t)
			if classOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v; want %s: %s", err, c.class, c.says)
			}
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	both := `{"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}`
	loads := `{"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`
	for name, c := range map[string]struct {
		answers map[string]string
		heard   string
	}{
		"resume":           {map[string]string{"initialize": both, "session/resume": `{"result":{}}`}, "session/resume"},
		"load":             {map[string]string{"initialize": loads, "session/load": `{"result":null}`}, "session/load"},
		"resume not there": {map[string]string{"initialize": both, "session/load": `{"result":{}}`}, "session/load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			st.answers, st.options.Resume, st.options.SystemPrompt = c.answers, "s1", "not again"
			s := st.mustOpen(t)
			events, _, err := play(t, s, script{Echo: true})
			if err != nil || s.ID() != "s1" || !strings.Contains(said(events), "heard "+c.heard+" ") || strings.Contains(said(events), "not again") || strings.Contains(said(events), "long ago") {
				t.Errorf("%s: %q, %v", s.ID(), said(events), err)
			}
		})
	}
}

// Settings are made by the way that the agent offers, and not where they hold.
func TestSettings(t *testing.T) {
	t.Parallel()
	options := `{"result":{"sessionId":"s1","configOptions":[{"id":"m","category":"model","currentValue":"small"},{"id":"t","category":"thought_level","currentValue":"low"},{"id":"x","type":"made_up","currentValue":true}]}}`
	old := `{"result":{"sessionId":"s1","models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"big"}]},"modes":{"currentModeId":"ask","availableModes":[]}}}`
	for name, c := range map[string]struct {
		opened, model, thinking, mode string
		heard                         []string
		logged                        string
	}{
		"options":   {opened: options, model: "big", thinking: "high", heard: []string{`session/set_config_option {"configId":"m","sessionId":"s1","value":"big"}`, `"configId":"t"`}},
		"methods":   {opened: old, model: "big", mode: "code", heard: []string{`session/set_model {"modelId":"big","sessionId":"s1"}`, `session/set_mode {"modeId":"code","sessionId":"s1"}`}},
		"they hold": {opened: old, model: "small", mode: "ask"},
		"no choice": {opened: `{"result":{"sessionId":"s1"}}`, model: "big", logged: "'big' is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			st.answers["session/new"] = c.opened
			for _, method := range []string{"session/set_config_option", "session/set_model", "session/set_mode"} {
				st.answers[method] = `{"result":{}}`
			}
			st.options.Model, st.options.Thinking, st.options.Extra = c.model, c.thinking, map[string]string{acp.ExtraMode: c.mode}
			events, _, err := play(t, st.mustOpen(t), script{Echo: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(said(events), "heard session/set"); got != len(c.heard) {
				t.Errorf("%d settings: %s", got, said(events))
			}
			for _, part := range c.heard {
				if !strings.Contains(said(events), part) {
					t.Errorf("not heard: %s\n%s", part, said(events))
				}
			}
			if !strings.Contains(st.logged.String(), c.logged) {
				t.Errorf("not logged: %s", c.logged)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		st := newStage(t)
		st.answers["session/new"], st.options.Model = old, "huge"
		if _, err := st.open(t); classOf(err) != runner.Bug || !strings.Contains(err.Error(), "'huge'") || !strings.Contains(err.Error(), "small, big") {
			t.Error(err)
		}
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newStage(t).mustOpen(t)
	if err := s.Interrupt(t.Context()); err != nil {
		t.Errorf("without a turn: %v", err)
	}
	for _, sc := range []script{
		{Hang: true, Flood: 1, Stop: "cancelled"},
		{Hang: true, Flood: 1, Stop: "end_turn"}, // of some agents
		{Hang: true, Flood: 1, Error: json.RawMessage(`{"code":-32603,"message":"aborted"}`)},
	} {
		result, err := s.Turn(t.Context(), sc.String(), func(e runner.Event) {
			if e.Kind == runner.Partial {
				if err := s.Interrupt(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil || !result.Cancelled {
			t.Errorf("%s: %+v, %v", sc, result, err)
		}
	}
}

// A question that is open when the turn is cancelled is answered as cancelled,
// and who was asked learns that nobody wants to know any more.
func TestInterruptWithdrawsQuestions(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	asked := make(chan struct{})
	st.options.Ask = func(ctx context.Context, _ permission.Request) permission.Decision {
		close(asked)
		<-ctx.Done()
		return permission.Decision{Allow: true} // too late
	}
	s := st.mustOpen(t)
	var interrupting sync.WaitGroup
	interrupting.Go(func() {
		<-asked
		if err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
	defer interrupting.Wait()
	events, result, err := play(t, s, script{Ask: []json.RawMessage{permissionRequest(t, "allow_once", "reject_once")}})
	if err != nil || !result.Cancelled || !strings.Contains(said(events), `{"outcome":{"outcome":"cancelled"}}`) {
		t.Errorf("%q, %+v, %v", said(events), result, err)
	}
}

func TestProcessEndsInTurn(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	s := st.mustOpen(t)
	events, _, err := play(t, s, script{Flood: 2, Exit: 7})
	if classOf(err) != runner.Gone || !strings.Contains(err.Error(), "exit 7") || !strings.Contains(err.Error(), "the last words") {
		t.Errorf("%v", err)
	}
	if said(events) != "flood\nflood\n" {
		t.Errorf("%q", said(events))
	}
	<-s.Done()
	if _, _, err := play(t, s, script{}); classOf(err) != runner.Gone {
		t.Errorf("the next turn: %v", err)
	}
	if exit := s.Close(); exit.Code != 7 {
		t.Errorf("%+v", exit)
	}
}

func TestOutputEndsInTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t).mustOpen(t)
	if _, _, err := play(t, s, script{Close: true}); classOf(err) != runner.Gone {
		t.Errorf("%v", err)
	}
	<-s.Done() // nobody can use it: it was ended
}

func TestContextEndsTurn(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	s := st.mustOpen(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Turn(ctx, script{Hang: true, Flood: 1}.String(), func(e runner.Event) {
		if e.Kind == runner.Partial {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if exit := s.Close(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}

func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t).mustOpen(t) // it offers neither files nor terminals
	for _, method := range []string{"made/up", "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output"} {
		events, _, err := play(t, s, script{Ask: []json.RawMessage{request(t, method, map[string]string{"sessionId": "s1"})}})
		if err != nil || !strings.Contains(said(events), `"code":-32601`) {
			t.Errorf("%s: %q, %v", method, said(events), err)
		}
	}
}
