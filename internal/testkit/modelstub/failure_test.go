package modelstub_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/testkit/modelstub"
)

func TestFailures(t *testing.T) {
	kinds := map[int][2]string{ // Anthropic's, OpenAI's
		401: {"authentication_error", "invalid_request_error"}, 429: {"rate_limit_error", "requests"},
		500: {"api_error", "server_error"}, 529: {"overloaded_error", "server_error"},
	}
	eachDialect(t, func(t *testing.T, d modelstub.Dialect, stream bool) {
		stub := modelstub.Start(t)
		for status, kind := range kinds {
			stub.Next(modelstub.Fail(status))
			a := ask(t, stub, d, "hi", stream)
			want := kind[1]
			if d == modelstub.Messages {
				want = kind[0]
			}
			if a.status != status || at(a.body, "error", "type") != want || at(a.body, "error", "message") == "" {
				t.Errorf("%d: %+v", status, a)
			}
		}
		stub.Next(modelstub.Reply{Failure: &modelstub.Failure{Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond}})
		a := ask(t, stub, d, "hi", stream)
		if a.header.Get("Retry-After") != "2" || at(a.body, "error", "message") != "slow down" {
			t.Errorf("%+v", a)
		}
	})
}

func TestDamage(t *testing.T) {
	ends := map[modelstub.Dialect]string{modelstub.Messages: "message_stop", modelstub.Responses: "response.completed", modelstub.Chat: "[DONE]"}
	errors := map[modelstub.Dialect][]any{
		modelstub.Messages: {"error", "type"}, modelstub.Responses: {"response", "error", "code"}, modelstub.Chat: {"error", "type"},
	}
	for _, d := range dialects {
		stub := modelstub.Start(t)
		for _, damage := range []modelstub.Damage{modelstub.Cut, modelstub.Early, modelstub.Garbage, modelstub.Error} {
			stub.Always(modelstub.Contains(string(damage)), modelstub.Break(damage))
		}
		streamed := func(damage modelstub.Damage) answer {
			a := ask(t, stub, d, string(damage), true)
			if text, _ := said(d, a); text != "This " {
				t.Errorf("%s %s: said %q", d, damage, text)
			}
			if e := a.last(); e.name == ends[d] || e.raw == ends[d] {
				t.Errorf("%s %s: the stream ended well", d, damage)
			}
			return a
		}
		if a := streamed(modelstub.Cut); a.broken == nil {
			t.Errorf("%s: the connection ended well", d)
		}
		if a := streamed(modelstub.Early); a.broken != nil {
			t.Errorf("%s: %v", d, a.broken)
		}
		if a := streamed(modelstub.Garbage); a.broken != nil || a.last().data != nil {
			t.Errorf("%s: %v, %+v", d, a.broken, a.last())
		}
		if a := streamed(modelstub.Error); at(a.last().data, errors[d]...) == nil {
			t.Errorf("%s: %+v", d, a.last())
		}
		for _, damage := range []modelstub.Damage{modelstub.Cut, modelstub.Early, modelstub.Garbage} {
			if a := ask(t, stub, d, string(damage), false); a.broken == nil {
				t.Errorf("%s %s: plain, %+v", d, damage, a)
			}
		}
		if a := ask(t, stub, d, "error", false); a.status != 500 {
			t.Errorf("%s: %+v", d, a)
		}
		stub.Always(modelstub.Contains("mute"), modelstub.Reply{Damage: modelstub.Error})
		if a := ask(t, stub, d, "mute", true); at(a.last().data, errors[d]...) == nil {
			t.Errorf("%s: breaks before its first word: %+v", d, a.last())
		}
	}
}

// A held reply shows its first chunk and no more until the test lets it go on.
func TestHold(t *testing.T) {
	for _, d := range dialects {
		stub := modelstub.Start(t)
		hold := make(chan struct{})
		stub.Next(modelstub.Reply{Text: []string{"wait", " for it"}, Hold: hold, Gap: time.Millisecond})
		res, err := http.Post(stub.URL()+paths[d], "application/json", strings.NewReader(question(d, "hi", true)))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var got strings.Builder
		buf := make([]byte, 1024)
		for !strings.Contains(got.String(), `"wait"`) {
			n, err := res.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(buf[:n])
		}
		if strings.Contains(got.String(), "for it") {
			t.Errorf("%s did not hold: %s", d, got.String())
		}
		close(hold)
		rest, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(rest), "for it") {
			t.Errorf("%s: %v, %s", d, err, rest)
		}
	}
}

// The end of Serve breaks off replies that would take for ever.
func TestServeEnds(t *testing.T) {
	stub := modelstub.New()
	if err := stub.Listen(t.Context(), "0.0.0.0:0"); fault.KindOf(err) != fault.Denied {
		t.Errorf("listens beyond loopback: %v", err)
	}
	if err := stub.Listen(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stub.Serve(ctx) }()
	stub.Next(modelstub.Reply{Text: []string{"a", "b"}, Hold: make(chan struct{})}, modelstub.Reply{Wait: time.Hour}, modelstub.Reply{Text: []string{"a", "b"}, Gap: time.Hour})
	broken := make(chan answer, 3)
	for _, text := range []string{"one", "two", "three"} {
		go func() { broken <- ask(t, stub, modelstub.Chat, text, true) }()
		if _, err := stub.Await(t.Context(), modelstub.Contains(text)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for range 3 {
		if a := <-broken; a.broken == nil {
			t.Errorf("a reply ended well: %+v", a)
		}
	}
}
