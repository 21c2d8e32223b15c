package claude

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
)

// session is one running agent.
type session struct {
	conn      *stdio.Conn
	log       func(string)
	resumed   bool
	check     func(permission.Request) (permission.Outcome, string) // or nil
	relay     turn.Relay[*message]
	questions *turn.Questions
	replies   *turn.Replies
	skipped   turn.Skipped
	dirs      []usedIn      // where tools are used, the newest last; of the goroutine that reads
	read      chan struct{} // closed when the output was read to its end

	mu        sync.Mutex // guards the fields below
	id        string
	requests  int
	prompt    string // the id of the running turn's prompt, or ""
	started   bool   // the agent has begun with it
	interrupt bool   // it must be interrupted as soon as it has begun
	busy      bool   // a prompt was sent, and its result did not come
	failed    bool   // the last turn ended with an error
	lastCost  float64
	costKnown bool  // lastCost is what the session had cost before the running turn
	window    int64 // the model's context, as it was told last; or 0

	closing sync.Once
	exit    runner.Exit // set by closing
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *session) Done() <-chan struct{} { return s.conn.Done() }

func (s *session) nextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return fmt.Sprintf("den-%d", s.requests)
}

// Turn sends a prompt and listens until its result.
func (s *session) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	t, err := s.relay.Begin()
	if err != nil {
		return runner.Result{}, err
	}
	defer t.End()
	defer s.questions.WithdrawAll()
	id := newUUID()
	s.beginPrompt(id)
	defer s.beginPrompt("")
	line := userMessage{Type: "user", Message: userSay{Role: "user", Content: []contentPiece{{Type: "text", Text: prompt}}}, UUID: id}
	if err := s.conn.Write(ctx, line); err != nil {
		return runner.Result{}, s.gone(err)
	}
	listener := &listener{session: s, prompt: id, each: each}
	for {
		m, err := t.Next(ctx)
		if err != nil {
			return runner.Result{}, s.gone(err)
		}
		if m.Type == "result" && (len(m.Prompts) == 0 || slices.Contains(m.Prompts, id)) {
			return listener.end(m)
		}
		listener.take(m)
	}
}

func (s *session) beginPrompt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompt, s.started, s.interrupt = id, false, false
	s.busy = s.busy || id != ""
}

// gone is the error of a turn that cannot go on.
func (s *session) gone(err error) error { return turn.WhyNot(err, s.conn.Close) }

// Interrupt asks the agent to end its turn. Without a turn it does nothing.
func (s *session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	running := s.prompt != ""
	s.mu.Unlock()
	if !running {
		return nil
	}
	return s.conn.Write(ctx, s.interruption())
}

func (s *session) interruption() controlRequest {
	return controlRequest{Type: "control_request", RequestID: s.nextID(), Request: map[string]any{"subtype": "interrupt"}}
}

// interruptLater is for an interrupt that came while the prompt was queued: the
// agent leaves it queued and begins with it, so it is interrupted then.
func (s *session) interruptLater(stillQueued []string) {
	s.mu.Lock()
	now := false
	if s.prompt != "" && slices.Contains(stillQueued, s.prompt) {
		s.interrupt = !s.started
		now = s.started
	}
	s.mu.Unlock()
	if now {
		s.replies.Send(s.interruption())
	}
}

func (s *session) promptStarted(id string) {
	s.mu.Lock()
	now := id == s.prompt && s.interrupt
	if id == s.prompt {
		s.started, s.interrupt = true, false
	}
	s.mu.Unlock()
	if now {
		s.replies.Send(s.interruption())
	}
}

// interruptLimit bounds the interrupt of an agent that is closed within a turn.
const interruptLimit = time.Second

// Close ends the agent. After a turn that failed the agent ends with code 1
// even though it was asked to end: that is no failure of its own.
func (s *session) Close() runner.Exit {
	s.closing.Do(func() {
		asked := true
		select {
		case <-s.conn.Done():
			asked = false
		default:
		}
		s.questions.WithdrawAll()
		s.interruptBeforeEnd()
		s.exit = s.conn.Close()
		<-s.read
		s.replies.Close()
		s.questions.WithdrawAll()
		s.questions.Wait()
		s.skipped.Total()
		s.mu.Lock()
		defer s.mu.Unlock()
		if asked && s.failed && s.exit.Code == 1 {
			s.exit = runner.Exit{}
		}
	})
	return s.exit
}

// interruptBeforeEnd is because an agent whose input ends finishes its turn
// first, however long that takes, and is slow to obey SIGTERM in it.
func (s *session) interruptBeforeEnd() {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if !busy {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), interruptLimit)
	defer cancel()
	s.conn.Write(ctx, s.interruption()) // Best effort: if it does not read, it is ended by signals.
}

// readAll reads the agent's output to its end.
func (s *session) readAll() {
	defer close(s.read)
	defer s.relay.Close()
	stdio.ReadAll(s.conn, s.dispatch, s.skipped.Malformed)
}

func (s *session) dispatch(m *message) {
	switch m.Type {
	case "control_request":
		s.asked(m)
		return
	case "control_cancel_request":
		s.questions.Withdraw(m.RequestID)
		return
	case "control_response":
		if m.Response.Subtype == "error" {
			s.log("the agent refused a request: " + m.Response.Error)
		}
		s.interruptLater(m.Response.Response.StillQueued)
	case "command_lifecycle":
		s.noteSession(m)
		if m.State == "started" {
			s.promptStarted(m.CommandID)
		}
	case "system", "result":
		s.noteSession(m)
	case "assistant", "user", "stream_event", "rate_limit_event":
	default:
		s.skipped.Add(m.Type)
		return
	}
	if !s.relay.Pass(m) && m.Type == "result" {
		s.log("the agent ended a turn of its own")
	}
}

// noteSession keeps the id of the session, which only a session that exists has.
func (s *session) noteSession(m *message) {
	if m.SessionID == "" || m.Type == "system" && m.Subtype != "init" || m.IsError {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = m.SessionID
}

// newUUID makes a random UUID of version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
