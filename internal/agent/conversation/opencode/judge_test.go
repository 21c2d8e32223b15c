package opencode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/opencode"
)

// askingServer is an opencode that asks for the uses of a tool, one after the
// other, and keeps what it is answered.
type askingServer struct {
	mu      sync.Mutex // guards answers
	answers []string
}

func (s *askingServer) open(t *testing.T, judge func(string, json.RawMessage) opencode.Verdict, calls ...string) *opencode.Source {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/event", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
		for _, call := range calls {
			fmt.Fprintf(w, "data: {\"type\":\"permission.asked\",\"properties\":{\"id\":\"per_%[1]s\",\"sessionID\":\"ses_1\",\"permission\":\"bash\",\"patterns\":[\"%[1]s\"],\"tool\":{\"messageID\":\"msg_1\",\"callID\":\"%[1]s\"}}}\n\n", call)
		}
		http.NewResponseController(w).Flush() // Best effort: the reader may have left.
		<-r.Context().Done()
	})
	mux.HandleFunc("/session/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ses_1":{"type":"busy"}}`) })
	mux.HandleFunc("/session/ses_1/message/msg_1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"parts":[{"type":"text"},
			{"callID":"deny","tool":"bash","state":{"input":{"command":"rm x"}}},
			{"callID":"allow","tool":"bash","state":{"input":{"command":"make"}}},
			{"callID":"ask","tool":"bash","state":{"input":{"command":"touch x"}}}]}`)
	})
	mux.HandleFunc("POST /permission/{id}/reply", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.answers = append(s.answers, r.PathValue("id")+" "+string(body))
		s.mu.Unlock()
		if r.PathValue("id") == "per_ask" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, "true")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	server := httptest.NewServer(mux)
	source := opencode.Open(opencode.Options{
		Endpoint: opencode.Endpoint{Port: server.Listener.Addr().(*net.TCPAddr).Port}, Judge: judge,
		Processes: func(context.Context) ([]int, error) { return []int{1}, nil },
	})
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return source
}

func awaitQuestion(t *testing.T, source *opencode.Source) string {
	t.Helper()
	for timeout := time.After(2 * time.Minute); ; {
		s, err := source.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Activity == conversation.Asking {
			return s.Question.ID
		}
		select {
		case <-source.Changes():
		case <-timeout:
			t.Fatalf("the state is %+v", s)
		}
	}
}

// What the policy decides is answered and is no question; what it does not, or
// what is not known, is one.
func TestJudge(t *testing.T) {
	judge := func(tool string, input json.RawMessage) opencode.Verdict {
		switch tool + string(input) {
		case `bash{"command":"rm x"}`:
			return opencode.Verdict{Decided: true, Why: "a rule"}
		case `bash{"command":"make"}`:
			return opencode.Verdict{Decided: true, Allow: true}
		}
		return opencode.Verdict{}
	}
	s := &askingServer{}
	if got := awaitQuestion(t, s.open(t, judge, "deny", "allow", "ask")); got != "per_ask" {
		t.Errorf("it asks %s", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{`per_deny {"message":"a rule","reply":"reject"}`, `per_allow {"reply":"once"}`}; !slices.Equal(s.answers, want) {
		t.Errorf("it was answered %q, want %q", s.answers, want)
	}
}

// A use that is not found, or an answer that is not taken, leaves the question to
// a person; so does a source without a policy.
func TestJudgeLeavesTheRestToPeople(t *testing.T) {
	all := func(string, json.RawMessage) opencode.Verdict { return opencode.Verdict{Decided: true, Allow: true} }
	s := &askingServer{}
	if got := awaitQuestion(t, s.open(t, all, "unknown")); got != "per_unknown" || len(s.answers) > 0 {
		t.Errorf("it asks %s and was answered %q", got, s.answers)
	}
	if got := awaitQuestion(t, (&askingServer{}).open(t, all, "ask")); got != "per_ask" {
		t.Errorf("it asks %s", got)
	}
	if got := awaitQuestion(t, (&askingServer{}).open(t, nil, "allow")); got != "per_allow" {
		t.Errorf("it asks %s", got)
	}
}
