package daemon

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/agent/webhook"
	"den/internal/base/environment"
	"den/internal/keeper"
)

// A receiver is told what kind of thing needs a person, by an id that stays; of
// an agent with a harness only what that cannot tell.
func TestReceiverEvents(t *testing.T) {
	since := time.Unix(1000, 0)
	for kind, c := range map[string]struct {
		kind      string
		tell, own bool // and of an agent with a harness
	}{
		keeper.WaitingQuestion:   {webhook.AgentQuestion, true, false},
		keeper.WaitingCell:       {webhook.AgentQuestion, true, false},
		keeper.WaitingDone:       {webhook.AgentComplete, true, false},
		keeper.WaitingFailed:     {webhook.AgentError, true, false},
		keeper.WaitingQuarantine: {webhook.AgentError, true, true},
		keeper.WaitingConfig:     {webhook.AgentError, true, true},
		keeper.WaitingApproval:   {"", false, false},
		keeper.WaitingBudget:     {"", false, false},
	} {
		w := keeper.Waiting{ID: kind + ":a", Kind: kind, Agent: "a", What: "words", Since: since}
		e, ok := receiverEvent(w, false)
		if ok != c.tell || ok && (e.Type != c.kind || e.Nick != "a" || e.Message != "words" || len(e.Data) == 0) {
			t.Errorf("%s: %v %+v", kind, ok, e)
		}
		if _, ok := receiverEvent(w, true); ok != c.own {
			t.Errorf("%s of an agent with a harness: %v", kind, ok)
		}
		again, _ := receiverEvent(w, false)
		w.Since = since.Add(time.Minute)
		if later, _ := receiverEvent(w, false); ok && (again.ID != e.ID || later.ID == e.ID) {
			t.Errorf("%s: ids %s, %s and later %s", kind, e.ID, again.ID, later.ID)
		}
	}
}

// The keeper signs what it tells, and the next keeper tells what is new.
func TestReceiverIsToldOfAFileNotInForce(t *testing.T) {
	heard := make(chan string, 4)
	var seen sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = webhook.Verify("secret", r.Header, body, time.Now())
		}
		if err != nil {
			t.Error(err)
		}
		if _, known := seen.LoadOrStore(r.Header.Get("Webhook-Id"), true); !known { // it comes at least once
			heard <- string(body)
		}
	}))
	defer server.Close()
	file := "[webhooks]\nurl = \"" + server.URL + "\"\nsecret_env = \"HOOK\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n"
	d := planned(t, file)
	d.getenv = environment.Getter([]string{"HOOK=secret"})
	for _, wrong := range []string{"name = 3", "nme = 4"} {
		rewrite(t, d, file+"[[agents]]\n"+wrong+"\n")
		if err := d.load(false); err == nil {
			t.Fatal("a wrong file was taken over")
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan struct{})
		go func() { defer close(told); d.tellReceivers(ctx) }()
		body := <-heard
		if !strings.Contains(body, `"type":"agent_error"`) || !strings.Contains(body, `"kind":"config"`) || !strings.Contains(body, strings.Fields(wrong)[0]) {
			t.Errorf("told %s", body)
		}
		cancel()
		<-told
	}
	if len(heard) > 0 {
		t.Errorf("told again: %s", <-heard)
	}
}
