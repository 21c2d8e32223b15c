package opencode_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/conversation"
	"den/internal/conversation/opencode"
)

// opencode was seen to leave the first request for its events without an
// answer while it started under load, and to answer the next.
func TestStreamThatNeverBegins(t *testing.T) {
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/event", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
			http.NewResponseController(w).Flush() // Best effort: the reader may have left.
		}
		<-r.Context().Done()
	})
	mux.HandleFunc("/session/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	server := httptest.NewServer(mux)
	defer server.Close()
	source := opencode.Open(opencode.Options{
		Endpoint:  opencode.Endpoint{Port: server.Listener.Addr().(*net.TCPAddr).Port},
		Processes: func(context.Context) ([]int, error) { return []int{1}, nil },
		Limit:     500 * time.Millisecond,
	})
	defer source.Close()
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
