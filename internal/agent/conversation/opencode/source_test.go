package opencode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/opencode"
)

// slowServer is an opencode that leaves the first request for its events
// without an answer, as it was seen to do while it started under load, and
// answers the next. It counts these requests.
func slowServer(t *testing.T) (*opencode.Source, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	posted := make(chan string, 1) // the message that was posted
	mux := http.NewServeMux()
	mux.HandleFunc("/event", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
			http.NewResponseController(w).Flush() // Best effort: the reader may have left.
			select {
			case id := <-posted:
				fmt.Fprintf(w, "data: {\"type\":\"message.updated\",\"properties\":{\"info\":{\"id\":%q,\"role\":\"user\"}}}\n\n", id)
				http.NewResponseController(w).Flush() // Best effort: the reader may have left.
			case <-r.Context().Done():
			}
		}
		<-r.Context().Done()
	})
	mux.HandleFunc("/session/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("POST /session", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"ses_1"}`) })
	mux.HandleFunc("POST /session/ses_1/prompt_async", func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ MessageID string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		posted <- body.MessageID
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	server := httptest.NewServer(mux)
	source := opencode.Open(opencode.Options{
		Endpoint:  opencode.Endpoint{Port: server.Listener.Addr().(*net.TCPAddr).Port},
		Processes: func(context.Context) ([]int, error) { return []int{1}, nil },
	})
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return source, &asked
}

// A stream that does not begin is asked for anew.
func TestStreamThatNeverBegins(t *testing.T) {
	source, asked := slowServer(t)
	timeout := time.After(2 * time.Minute)
	for {
		s, err := source.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Activity == conversation.Ready {
			return
		}
		select {
		case <-source.Changes():
		case <-timeout:
			t.Fatalf("after %d requests the state is %+v", asked.Load(), s)
		}
	}
}

// A message that comes while opencode starts is not left to be typed: its
// answer would be known by its text only.
func TestSendWhileItStarts(t *testing.T) {
	source, _ := slowServer(t)
	receipt, err := source.Send(t.Context(), conversation.Message{ID: "m", Text: "hello"})
	if err != nil || receipt.Progress != conversation.Taken {
		t.Errorf("%+v, %v", receipt, err)
	}
}
