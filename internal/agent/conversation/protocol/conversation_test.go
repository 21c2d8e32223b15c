package protocol_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/conversation/protocol"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
)

// session is that of a harness that runs.
type session struct{}

func (session) IsStarting(context.Context) bool { return false }
func (session) State(context.Context) (conversation.State, error) {
	return conversation.State{Activity: conversation.Unknown}, nil
}

// world is a keeper's queue, and a harness with one of its own.
type world struct {
	t            *testing.T
	socket       string
	dir          string // of the keeper's queue
	own, harness *outbox.Queue

	mu     sync.Mutex // guards told
	told   []string   // what the keeper told of messages
	states chan conversation.State
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), states: make(chan conversation.State, 64)}
	w.socket = filepath.Join(t.TempDir(), "s")
	w.own, w.harness = w.open(w.dir), w.open(t.TempDir())
	return w
}

func (w *world) open(dir string) *outbox.Queue {
	w.t.Helper()
	q, err := outbox.Open(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	q.OnEnd(func(m outbox.Message) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, m.ID+" "+string(m.Status))
	})
	return q
}

// serve lets the harness listen until the test ends. state is told to who
// watches.
func (w *world) serve(state <-chan ipc.AgentStatus) {
	w.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.socket, Net: "unix"})
	if err != nil {
		w.t.Fatal(err)
	}
	server := ipc.NewServer(func(ctx context.Context, r ipc.Request, c *ipc.Client) (any, []string, error) {
		var m outbox.Message
		var err error
		switch r.Type {
		case ipc.Prompt:
			m, err = w.harness.AddRouted(r.MessageID, r.Message, "nudge")
		case ipc.Confirm:
			m, err = w.harness.Get(r.MessageID)
		case ipc.Watch:
			for {
				select {
				case <-ctx.Done():
					return nil, nil, nil
				case s := <-state:
					if err := c.Send(ipc.StateLine{Type: ipc.TypeState, AgentStatus: s}); err != nil {
						return nil, nil, err
					}
				}
			}
		}
		return ipc.Taken{Receipt: m.Receipt(), Found: err == nil}, nil, err
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(ctx, l) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

func (w *world) talk() *protocol.Conversation {
	return protocol.New(protocol.Options{
		Agent: "a", Queue: w.own, Session: session{}, OnState: func(s conversation.State) { w.states <- s },
		Harness: protocol.Harness{
			Socket: w.socket, Nudges: func() ([]outbox.Message, error) { return w.harness.List(), nil },
			Awaited: func(context.Context) (string, bool) { return "stopped", false },
		},
	})
}

// run runs a conversation until the test ends.
func (w *world) run(c *protocol.Conversation) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) wasTold(want ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) != len(want) {
		return false
	}
	for i := range want {
		if w.told[i] != want[i] {
			return false
		}
	}
	return true
}

// A harness that listens has the message in the one queue that there is then.
func TestMessageGoesToTheHarness(t *testing.T) {
	w := newWorld(t)
	w.serve(nil)
	c := w.talk()
	for range 2 { // the same message
		m, err := c.Keep(t.Context(), conversation.Message{ID: "m", Text: "hello"})
		if err != nil || m.ID != "m" || m.Status != conversation.Sent {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	if len(w.own.List()) != 0 || len(w.harness.List()) != 1 || w.own.LastHanded().IsZero() || !w.wasTold("m sent") {
		t.Errorf("%+v, %+v, told %q", w.own.List(), w.harness.List(), w.told)
	}
	if m, err := c.Keep(t.Context(), conversation.Message{ID: "m", Text: "another"}); fault.KindOf(err) != fault.Usage || m.ID != "m" {
		t.Errorf("%+v, %v", m, err)
	}
}

// What comes while no harness listens waits, and is moved in its order, also
// what the harness has already: the keeper may end between the two.
func TestMessagesMoveOnce(t *testing.T) {
	w := newWorld(t)
	c := w.talk()
	for _, id := range []string{"a", "b"} {
		if m, err := c.Keep(t.Context(), conversation.Message{ID: id, Text: "text " + id}); err != nil || m.Status != conversation.Queued {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := c.Deliver(ended, "a"); err == nil || m.Status != conversation.Queued {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := w.harness.AddRouted("a", "text a", "nudge"); err != nil { // the keeper ended before it noted that
		t.Fatal(err)
	}
	w.own = w.open(w.dir)
	c = w.talk()
	w.serve(nil)
	if m, err := c.Deliver(t.Context(), "b"); err != nil || m.ID != "b" || m.Status != conversation.Sent {
		t.Fatalf("%+v, %v", m, err)
	}
	there := w.harness.List()
	if len(w.own.List()) != 0 || len(there) != 2 || there[0].ID != "a" || there[1].ID != "b" || w.open(w.dir).Pending() != 0 {
		t.Errorf("%+v, %+v", w.own.List(), there)
	}
	if !w.wasTold("a sent", "b sent") {
		t.Errorf("told: %q", w.told)
	}
}

// A message that the harness refuses has failed, and holds up no other.
func TestRefusedMessageFails(t *testing.T) {
	w := newWorld(t)
	c := w.talk()
	for _, id := range []string{"a", "b"} {
		if _, err := c.Keep(t.Context(), conversation.Message{ID: id, Text: "text"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.harness.Add("a", "another text"); err != nil {
		t.Fatal(err)
	}
	w.serve(nil)
	if m, err := c.Deliver(t.Context(), "a"); fault.KindOf(err) != fault.Usage || m.Status != conversation.Failed {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := c.Deliver(t.Context(), "b"); err != nil || m.Status != conversation.Sent {
		t.Errorf("%+v, %v", m, err)
	}
}

// What the harness has is known while it does not run: the same id with another
// text is refused, and with the same text it is the same message.
func TestKeepKnowsWhatTheHarnessHas(t *testing.T) {
	w := newWorld(t)
	if _, err := w.harness.Add("a", "text"); err != nil {
		t.Fatal(err)
	}
	c := w.talk()
	if _, err := c.Keep(t.Context(), conversation.Message{ID: "a", Text: "another text"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("another text: %v", err)
	}
	if m, err := c.Keep(t.Context(), conversation.Message{ID: "a", Text: "text"}); err != nil || m.Status != conversation.Sent {
		t.Errorf("the same text: %+v, %v", m, err)
	}
	if n := w.own.Pending(); n != 0 {
		t.Errorf("%d messages wait", n)
	}
}

// Run follows the state, and tells what became of a message, also of one that
// the harness had before.
func TestRunTellsOfMessages(t *testing.T) {
	w := newWorld(t)
	if _, err := w.harness.AddRouted("m", "hello", "nudge"); err != nil {
		t.Fatal(err)
	}
	states := make(chan ipc.AgentStatus)
	w.serve(states)
	c := w.talk()
	w.run(c)
	for _, activity := range []string{"busy", "ready"} {
		if activity == "ready" {
			if err := w.harness.Update("m", func(m *outbox.Message) { m.Status, m.Reason = conversation.Taken, "shown" }); err != nil {
				t.Fatal(err)
			}
		}
		states <- ipc.AgentStatus{State: activity, Since: time.Unix(1000, 0)}
		for s := range w.states {
			if string(s.Activity) == activity {
				break // before it, nothing was told
			}
		}
		if s := c.LastState(); string(s.Activity) != activity || s.Source != protocol.Name || !s.Since.Equal(time.Unix(1000, 0)) {
			t.Errorf("%+v", s)
		}
	}
	if !w.wasTold("m taken") || w.own.LastHanded().IsZero() {
		t.Errorf("told: %q", w.told)
	}
}

// One list has each message once, as the harness knows it.
func TestAll(t *testing.T) {
	own := []outbox.Message{{ID: "a", Status: conversation.Sent}, {ID: "b", Status: conversation.Queued}}
	all := protocol.All(own, []outbox.Message{{ID: "a", Status: conversation.Answered}, {ID: "c", Status: outbox.Sending}})
	if len(all) != 3 || all[0].Status != conversation.Answered || all[1].ID != "c" || all[1].Status != conversation.Sent || all[2].ID != "b" || all[2].Status != conversation.Queued {
		t.Errorf("%+v", all)
	}
}

// Who asks an agent that does not come up is told what it is.
func TestAskOfNobody(t *testing.T) {
	_, err := newWorld(t).talk().Ask(t.Context(), conversation.Message{ID: "q", Text: "hello"}, conversation.AskOptions{})
	if fault.KindOf(err) != fault.NotRunning {
		t.Errorf("%v", err)
	}
}

// A harness that is being killed takes a connection and ends it: the question
// goes to the next one.
func TestAskOfOneThatIsKilled(t *testing.T) {
	w := newWorld(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		l.Close() // first: it removes the socket
		if err == nil {
			conn.Close()
		}
	}()
	awaited := false
	c := protocol.New(protocol.Options{Agent: "a", Queue: w.own, Session: session{}, Harness: protocol.Harness{
		Socket: w.socket,
		Awaited: func(context.Context) (string, bool) {
			if !awaited {
				awaited = true
				w.serve(nil)
			}
			return "starting", true
		},
	}})
	if _, err := c.Ask(t.Context(), conversation.Message{ID: "q", Text: "hello"}, conversation.AskOptions{Limit: time.Minute}); err != nil || !awaited {
		t.Errorf("%v, awaited: %v", err, awaited)
	}
}
