package modelstub_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/testkit/modelstub"
)

func TestRulesInOrder(t *testing.T) {
	stub := modelstub.Start(t)
	stub.When(modelstub.Contains("list"), modelstub.Say("one"), modelstub.Say("two"))
	stub.Always(modelstub.Contains("ping"), modelstub.Say("pong"))
	stub.Next(modelstub.Say("first come"))
	for _, c := range []struct{ ask, want string }{
		{"list", "one"}, {"ping", "pong"}, {"please list", "two"}, {"list", "first come"}, {"ping", "pong"},
	} {
		if got, _ := said(modelstub.Chat, ask(t, stub, modelstub.Chat, c.ask, true)); got != c.want {
			t.Errorf("%q gets %q, want %q", c.ask, got, c.want)
		}
	}
	text, _ := said(modelstub.Chat, ask(t, stub, modelstub.Chat, "what else", true))
	if all := stub.Requests(); !all[len(all)-1].Unscripted || all[0].Unscripted || !strings.Contains(text, "no reply is scripted") {
		t.Errorf("%q, %+v", text, all[len(all)-1])
	}
}

// A reply can be made of the request, of results of tools for example. It is
// made without a lock: what decides may ask the stub.
func TestDecide(t *testing.T) {
	stub := modelstub.Start(t)
	stub.Always(modelstub.Any, modelstub.Decide(func(r *modelstub.Request) modelstub.Reply {
		return modelstub.Say(r.Text, fmt.Sprintf(" is request %d", len(stub.Requests())))
	}))
	for i, words := range []string{"this", "that"} {
		want := fmt.Sprintf("%s is request %d", words, i+1)
		if got, _ := said(modelstub.Messages, ask(t, stub, modelstub.Messages, words, true)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A request for a title has the user's text inside a longer one. It takes none
// of the replies that are meant for the turn.
func TestTitleTakesNoReply(t *testing.T) {
	stub := modelstub.Start(t)
	stub.When(modelstub.Is("list it"), modelstub.Say("two files"))
	for _, c := range []struct{ ask, want string }{
		{"Generate a title. User prompt:\nlist it", "modelstub: no reply is scripted for this."}, {"list it", "two files"},
	} {
		if got, _ := said(modelstub.Responses, ask(t, stub, modelstub.Responses, c.ask, true)); got != c.want {
			t.Errorf("%q gets %q, want %q", c.ask, got, c.want)
		}
	}
}

// The user's words stay the newest while tools are used, and so a turn's
// steps are the replies of one rule.
func TestTurnWithTools(t *testing.T) {
	bodies := map[modelstub.Dialect]string{
		modelstub.Messages: `{"system":[{"type":"text","text":"be brief"}],"tools":[{"name":"Bash"}],"messages":[
			{"role":"user","content":"old"},{"role":"assistant","content":"ok"},
			{"role":"user","content":[{"type":"text","text":"<system-reminder>\nbe nice</system-reminder>"},{"type":"text","text":"[Request interrupted by user for tool use]"},{"type":"text","text":"list it"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"two files"}]},{"type":"text","text":"<system-reminder>x</system-reminder>"}]}]}`,
		modelstub.Responses: `{"instructions":"be brief","tools":[{"type":"function","name":"Bash"}],"input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>cwd</environment_context>"}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"list it"}]},
			{"type":"function_call","name":"Bash","arguments":"{}","call_id":"c"},
			{"type":"function_call_output","call_id":"c","output":"two files"}]}`,
		modelstub.Chat: `{"tools":[{"type":"function","function":{"name":"Bash"}}],"messages":[{"role":"system","content":"be brief"},
			{"role":"user","content":[{"type":"text","text":"list it"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c","content":"two files"}]}`,
	}
	for d, body := range bodies {
		stub := modelstub.Start(t)
		stub.When(modelstub.After("two files"), modelstub.Say("there are two"))
		if text, _ := said(d, post(t, stub, paths[d], body)); text != "there are two" {
			t.Errorf("%s says %q", d, text)
		}
		r := stub.Requests()[0]
		if r.Text != "list it" || !slices.Equal(r.Results, []string{"two files"}) || r.System != "be brief" || !slices.Equal(r.Tools, []string{"Bash"}) {
			t.Errorf("%s: text %q, results %q, system %q, tools %q", d, r.Text, r.Results, r.System, r.Tools)
		}
	}
}

func TestAwait(t *testing.T) {
	stub := modelstub.Start(t)
	got := make(chan modelstub.Request, 1)
	go func() {
		r, err := stub.Await(t.Context(), modelstub.Contains("second"))
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	ask(t, stub, modelstub.Chat, "first", false)
	ask(t, stub, modelstub.Chat, "second", false)
	if r := <-got; r.Text != "second" || r.Header.Get("User-Agent") == "" || !strings.Contains(string(r.Body), "second") {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := stub.Await(ctx, modelstub.Contains("third"))
	if fault.KindOf(err) != fault.Timeout || !strings.Contains(fault.HintOf(err), `"second"`) {
		t.Errorf("%v, hint %s", err, fault.HintOf(err))
	}
}

// Who has the stub for a proxy is told no, and the test hears of it.
func TestElsewhere(t *testing.T) {
	stub := modelstub.Start(t)
	proxy, err := url.Parse(stub.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	if res, err := client.Get("https://models.invalid/x"); err == nil {
		res.Body.Close()
		t.Errorf("a tunnel was opened: %s", res.Status)
	}
	res, err := client.Get("http://models.invalid/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("the status is %d", res.StatusCode)
	}
	if got := stub.Elsewhere(); !slices.Equal(got, []string{"models.invalid:443", "http://models.invalid/v1/models"}) {
		t.Errorf("%q", got)
	}
}

func TestLoad(t *testing.T) {
	stub := modelstub.Start(t)
	script := `[{"contains":"list","replies":[{"calls":[{"name":"Bash","input":{"command":"ls"}}]},{"text":["two ","files"],"gap":"1ms"}]},
		{"contains":"list","after":"x","replies":[{"text":["never"]}]},
		{"contains":"","always":true,"replies":[{"status":429}]}]`
	if err := stub.Load(strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	if _, calls := said(modelstub.Chat, ask(t, stub, modelstub.Chat, "list", true)); !slices.Equal(calls, []string{`Bash{"command":"ls"}`}) {
		t.Errorf("%q", calls)
	}
	if text, _ := said(modelstub.Chat, ask(t, stub, modelstub.Chat, "list", true)); text != "two files" {
		t.Errorf("%q", text)
	}
	if a := ask(t, stub, modelstub.Chat, "list", true); a.status != 429 {
		t.Errorf("%+v", a)
	}
	for bad, want := range map[string]string{
		`{}`:                                    "read the model's script",
		`[{"contain":"x"}]`:                     "unknown field",
		`[{"contains":"x"}]`:                    "rule 1",
		`[{"replies":[{"wait":"soon"}]}]`:       "soon",
		`[{"replies":[{"damage":"a little"}]}]`: "a little",
		`[{"always":true,"replies":[{},{}]}]`:   "2 replies",
	} {
		if err := modelstub.New().Load(strings.NewReader(bad)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
