package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

const secret = "a secret that must not be shown"

// receiver is a real HTTP server. Each request is handled by the next of its
// behaviours, and by taking it when there are no more.
type receiver struct {
	*httptest.Server
	t     *testing.T
	taken chan Event

	mu       sync.Mutex
	behave   []http.HandlerFunc
	requests int
}

func newReceiver(t *testing.T, behave ...http.HandlerFunc) *receiver {
	r := &receiver{t: t, taken: make(chan Event, 1000), behave: behave} // more than any test sends
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.requests++
	var next http.HandlerFunc = r.take
	if len(r.behave) > 0 {
		next, r.behave = r.behave[0], r.behave[1:]
	}
	r.mu.Unlock()
	next(w, request)
}

func (r *receiver) take(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Errorf("read request: %v", err)
		return
	}
	if err := Verify(secret, request.Header, body, time.Now()); err != nil {
		r.t.Errorf("%v", err)
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil || e.ID != request.Header.Get(HeaderID) {
		r.t.Errorf("body %s: %v", body, err)
	}
	r.taken <- e
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// cutOff ends the connection in the middle of the response.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = buf.WriteString("HTTP/1.1 20") // Best effort: the connection is cut anyway.
	_ = buf.Flush()
	_ = conn.Close()
}

// hang answers only when the client has left.
func hang(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the client leaves
	<-r.Context().Done()
}

// running is a sender whose pauses are recorded and not waited for.
type running struct {
	*Sender
	lines chan string // of its log
	stop  func()      // returns when Run has

	mu     sync.Mutex // guards the fields below
	pauses []time.Duration
}

// open makes a sender that does not run yet.
func open(t *testing.T, o Options) *running {
	t.Helper()
	s := &running{lines: make(chan string, 1000)} // more than any test logs
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Secret = secret
	o.Log = func(line string) { s.lines <- line }
	var err error
	if s.Sender, err = Open(o); err != nil {
		t.Fatal(err)
	}
	s.pause = func(_ context.Context, d time.Duration) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pauses = append(s.pauses, d)
		return nil
	}
	return s
}

func (s *running) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.Run(ctx) })
	s.stop = func() { cancel(); work.Wait() }
	t.Cleanup(s.stop)
}

func start(t *testing.T, o Options) *running {
	t.Helper()
	s := open(t, o)
	s.run(t)
	return s
}

// waitForIdle returns when nothing waits any more, with the ids of what is over.
func (s *running) waitForIdle(t *testing.T) []string {
	t.Helper()
	var over []string
	if err := poll.Until(t.Context(), func() (bool, error) {
		s.Sender.mu.Lock()
		defer s.Sender.mu.Unlock()
		over = slices.Clone(s.outbox.sent)
		return len(s.outbox.pending) == 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	return over
}

func send(t *testing.T, s *running, e Event) Outcome {
	t.Helper()
	outcome, err := s.Send(e)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func spiraling(id string) Event {
	return Event{ID: id, Type: AgentSpiraling, Nick: "fox", Severity: Critical, Message: "stuck", Data: json.RawMessage(`{"n":1}`), Topic: id}
}

func TestDelivers(t *testing.T) {
	r := newReceiver(t)
	s := start(t, Options{URL: r.URL + "/hook"})
	send(t, s, Event{Type: AgentSpiraling, Nick: "fox", Severity: Critical, Message: "stuck", Data: json.RawMessage(`{"turns": 3}`)})
	e := <-r.taken
	if e.ID == "" || e.Type != AgentSpiraling || e.Nick != "fox" || e.Severity != Critical || e.Message != "stuck" || e.Time.IsZero() || string(e.Data) != `{"turns":3}` {
		t.Errorf("%+v", e)
	}
	if over := s.waitForIdle(t); !slices.Equal(over, []string{e.ID}) {
		t.Errorf("%v are over", over)
	}
}

func TestTriesAgain(t *testing.T) {
	for name, behave := range map[string][]http.HandlerFunc{
		"server errors": {status(500), status(503), status(502)},
		"cut off":       {cutOff, cutOff},
		"too many":      {status(429, "Retry-After", "7"), status(429)},
		"slow":          {hang},
		"all":           {status(500), cutOff, status(429), hang},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failures := len(behave)
			r := newReceiver(t, behave...)
			run := open(t, Options{URL: r.URL})
			run.client.Timeout = 300 * time.Millisecond
			run.run(t)
			send(t, run, spiraling("1"))
			send(t, run, spiraling("2"))
			if a, b := <-r.taken, <-r.taken; a.ID != "1" || b.ID != "2" {
				t.Errorf("order: %s, %s", a.ID, b.ID)
			}
			run.waitForIdle(t)
			run.mu.Lock()
			defer run.mu.Unlock()
			if len(run.pauses) < failures {
				t.Errorf("%d pauses after %d failures", len(run.pauses), failures)
			}
			for i, d := range run.pauses[:failures] {
				if d < firstDelay<<i/2 {
					t.Errorf("pause %d is %v", i, d)
				}
			}
			if name == "too many" && run.pauses[0] != 7*time.Second {
				t.Errorf("Retry-After is not respected: %v", run.pauses)
			}
		})
	}
}

func TestReceiverThatIsAwayAndComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // nobody listens there now
	run := open(t, Options{URL: "http://" + address})
	paused := make(chan struct{})
	run.pause = func(ctx context.Context, _ time.Duration) error {
		select {
		case paused <- struct{}{}:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	run.run(t)
	send(t, run, spiraling("1"))
	<-paused // the first attempt has failed
	r := &receiver{t: t, taken: make(chan Event, 10)}
	server := &http.Server{Handler: http.HandlerFunc(r.serve)}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatalf("listen again: %v", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // it ends with the server
	t.Cleanup(func() { server.Close(); serving.Wait() })
	for {
		select {
		case e := <-r.taken:
			if e.ID != "1" {
				t.Errorf("%+v", e)
			}
			return
		case <-paused:
		}
	}
}

func TestRejectedEventsAreGivenUp(t *testing.T) {
	r := newReceiver(t, status(400), status(302, "Location", "/elsewhere"))
	s := start(t, Options{URL: r.URL})
	for _, id := range []string{"1", "2", "3"} {
		send(t, s, spiraling(id))
	}
	if e := <-r.taken; e.ID != "3" {
		t.Errorf("%+v", e)
	}
	if over := s.waitForIdle(t); !slices.Equal(over, []string{"1", "2", "3"}) || len(r.taken) > 0 {
		t.Errorf("%v are over, and the receiver has %d more", over, len(r.taken))
	}
	if r.requests != 3 {
		t.Errorf("%d requests: a redirect was followed", r.requests)
	}
}

func TestRestartLosesNothing(t *testing.T) {
	dir := t.TempDir()
	r := newReceiver(t)
	first := open(t, Options{Dir: dir, URL: r.URL})
	for i := range 5 { // it never runs, as if it were killed
		send(t, first, spiraling(fmt.Sprint(i)))
	}
	if err := os.WriteFile(filepath.Join(dir, "0000000000000000000000.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Dir: dir, URL: r.URL})
	for i := range 5 {
		if e := <-r.taken; e.ID != fmt.Sprint(i) || string(e.Data) != `{"n":1}` {
			t.Errorf("%+v", e)
		}
	}
	s.waitForIdle(t)
	s.stop()
	if line := <-s.lines; !strings.Contains(line, "0000000000000000000000") {
		t.Errorf("the damaged file is not named: %q", line)
	}
	again := start(t, Options{Dir: dir, URL: r.URL})
	if outcome := send(t, again, spiraling("3")); outcome != Duplicate {
		t.Errorf("an event that was sent before the restart is %s", outcome)
	}
}

func TestStopInTheMiddleKeepsTheEvent(t *testing.T) {
	dir := t.TempDir()
	arrived := make(chan struct{})
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		close(arrived)
		hang(w, request)
	})
	s := start(t, Options{Dir: dir, URL: r.URL})
	send(t, s, spiraling("1"))
	<-arrived
	s.stop()
	start(t, Options{Dir: dir, URL: r.URL})
	if e := <-r.taken; e.ID != "1" {
		t.Errorf("%+v", e)
	}
}

func TestDuplicatesAndFilter(t *testing.T) {
	r := newReceiver(t)
	s := start(t, Options{URL: r.URL, Window: time.Hour, Events: []string{AgentSpiraling, AgentQuestion}})
	event := func(id, kind, topic string) Event { return Event{ID: id, Type: kind, Nick: "fox", Topic: topic} }
	for _, row := range []struct {
		event Event
		want  Outcome
	}{
		{event("1", AgentSpiraling, ""), Kept},
		{event("1", AgentSpiraling, "x"), Duplicate},
		{event("2", AgentSpiraling, ""), Suppressed},
		{event("3", AgentQuestion, "a"), Kept},
		{event("4", AgentQuestion, "b"), Kept},
		{event("5", AgentQuestion, "b"), Suppressed},
		{event("6", AgentComplete, ""), Filtered},
		{Event{ID: "7", Type: AgentSpiraling, Nick: "owl"}, Kept},
	} {
		if got := send(t, s, row.event); got != row.want {
			t.Errorf("%s: %s, want %s", row.event.ID, got, row.want)
		}
	}
	var ids []string
	for range 4 {
		ids = append(ids, (<-r.taken).ID)
	}
	if !slices.Equal(ids, []string{"1", "3", "4", "7"}) {
		t.Errorf("%q", ids)
	}
	s.Sender.mu.Lock()
	for _, topic := range s.topics {
		topic.at = topic.at.Add(-2 * time.Hour) // the window is over
	}
	s.Sender.mu.Unlock()
	if got := send(t, s, event("8", AgentSpiraling, "")); got != Kept {
		t.Errorf("%s", got)
	}
	if e := <-r.taken; e.Suppressed != 1 {
		t.Errorf("%+v", e)
	}
}

func TestBounds(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), URL: "http://127.0.0.1:1", Window: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxPending + 10 {
		if _, err := s.Send(Event{Type: AgentError, Nick: "fox", Topic: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.outbox.pending); n != maxPending {
		t.Errorf("%d wait", n)
	}
	files, err := os.ReadDir(s.options.Dir)
	if err != nil || len(files) != maxPending {
		t.Errorf("%d files, %v", len(files), err)
	}
	for name, e := range map[string]Event{
		"no type":       {},
		"data no JSON":  {Type: "x", Data: json.RawMessage(`{`)},
		"data an array": {Type: "x", Data: json.RawMessage(`[]`)},
		"data too long": {Type: "x", Data: json.RawMessage(`{"a":"` + strings.Repeat("x", maxData) + `"}`)},
	} {
		if _, err := s.Send(e); err == nil {
			t.Errorf("%s: kept", name)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	s := start(t, Options{URL: "http://user:hidden-password@127.0.0.1:1/services/hidden-path?token=hidden-token"})
	send(t, s, spiraling("1"))
	shown := <-s.lines
	s.stop()
	if strings.Contains(shown, "hidden") || strings.Contains(shown, secret) || !strings.Contains(shown, "127.0.0.1:1") {
		t.Errorf("%s", shown)
	}
	for _, address := range []string{"", "ftp://hidden", "hidden", "http://", "http://[hidden"} {
		if _, err := Open(Options{Dir: t.TempDir(), URL: address}); fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
