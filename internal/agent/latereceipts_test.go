package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/place/provider"
	"den/internal/place/workspace"
)

// following runs what a keeper runs for an agent.
func following(t *testing.T, m *agent.Managed) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // one slot: the send cannot block
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// awaitKept waits until what is on disk of the one message is as it should be.
func awaitKept(t *testing.T, dir, what string, holds func(outbox.Message) bool) {
	t.Helper()
	var last []outbox.Message
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(20 * time.Millisecond) {
		if last = queue(t, dir).List(); len(last) == 1 && holds(last[0]) {
			return
		}
	}
	t.Fatalf("%s did not come; kept is %+v", what, last)
}

func sentOnly(t *testing.T, m *agent.Managed) {
	t.Helper()
	if n, err := m.Nudge(t.Context(), "", "hello"); err != nil || n.Status != conversation.Sent {
		t.Fatalf("%s (%s), %v", n.Status, n.Reason, err)
	}
}

// What a busy program reads when it has the time becomes taken.
func TestReadLaterIsTaken(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		dir, goOn, got := t.TempDir(), filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "got")
		m := hastyIn(t, p, dir, "sh", "-c", "until [ -e "+goOn+" ]; do sleep 0.02; done; read -r line; echo \"$line\" >"+got+"; exec cat")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		sentOnly(t, m)
		following(t, m)
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		awaitKept(t, dir, "taken", func(n outbox.Message) bool { return n.Status == conversation.Taken && n.Expect == "" })
		if line := awaitFile(t, got); line != "hello" {
			t.Errorf("it read %q", line)
		}
	})
}

// What a program had not read when it ended stays sent: that the next one has
// nothing to read says nothing.
func TestUnreadAtTheEndStaysSent(t *testing.T) {
	onReal(t, func(t *testing.T, p provider.Provider) {
		dir, goOn := t.TempDir(), filepath.Join(t.TempDir(), "go")
		m := hastyIn(t, p, dir, "sh", "-c", "[ -e "+goOn+" ] && exec cat; while :; do sleep 0.1; done")
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		sentOnly(t, m)
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		following(t, m)
		awaitKept(t, dir, "the end of the wait for evidence", func(n outbox.Message) bool { return n.Expect == "" })
		if n := queue(t, dir).List()[0]; n.Status != conversation.Sent {
			t.Errorf("%+v", n)
		}
	})
}

// slowServer accepts a message and shows it later.
type slowServer struct {
	source
	mu    sync.Mutex // guards the fields below
	now   conversation.Activity
	shows bool
}

func (s *slowServer) set(now conversation.Activity, shows bool) {
	s.mu.Lock()
	s.now, s.shows = now, shows
	s.mu.Unlock()
	s.changes <- struct{}{}
}

func (s *slowServer) State(context.Context) (conversation.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return conversation.State{Activity: s.now, Source: s.Name()}, nil
}

func (s *slowServer) Send(_ context.Context, m conversation.Message) (conversation.Receipt, error) {
	return conversation.Receipt{ID: m.ID, Progress: conversation.Sent, Evidence: "the server accepted it"}, nil
}

func (s *slowServer) Confirm(_ context.Context, id string) (conversation.Receipt, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return conversation.Receipt{ID: id, Progress: conversation.Taken, Evidence: "the server has it"}, s.shows, nil
}

// A message that a server shows after the wait for it becomes taken, and
// answered with the end of its turn.
func TestShownLaterIsTaken(t *testing.T) {
	onClockOfItsOwn(t, func(t *testing.T) {
		server := &slowServer{source: source{changes: make(chan struct{})}, now: conversation.Ready}
		dir := t.TempDir()
		m, err := agent.New(agent.Options{Workspace: "w", Name: "a", Session: "s", Provider: composing(), Nudges: queue(t, dir), Timing: hasty, Source: server,
			Config: agent.SessionConfig{Command: []string{"x"}, WorkDir: t.TempDir(), Hints: workspace.Hints{ReadyPromptPrefix: "❯ ", ProcessNames: []string{"x"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		sentOnly(t, m)
		following(t, m)
		server.set(conversation.Busy, true)
		awaitKept(t, dir, "taken", func(n outbox.Message) bool { return n.Status == conversation.Taken && n.Reason == "the server has it" })
		server.set(conversation.Ready, true)
		awaitKept(t, dir, "answered", func(n outbox.Message) bool { return n.Status == conversation.Answered })
	})
}
