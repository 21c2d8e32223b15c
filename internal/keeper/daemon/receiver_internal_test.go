package daemon

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/webhook"
	"den/internal/base/environment"
)

// The keeper signs what it tells, and the next keeper tells what is new.
func TestReceiverIsToldOfAFileNotInForce(t *testing.T) {
	heard := make(chan string, 4)
	var seen sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			mac := hmac.New(sha256.New, []byte("secret"))
			fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get(webhook.HeaderID), r.Header.Get(webhook.HeaderTimestamp), body)
			if got := r.Header.Get(webhook.HeaderSignature); got != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
				t.Errorf("it is signed by %q", got)
			}
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
