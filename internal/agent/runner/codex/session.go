package codex

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
)

// session is one running app-server with one thread.
type session struct {
	conn      *stdio.Conn
	log       func(string)
	effort    string
	thread    string // set by Open
	model     string // set by Open
	relay     turn.Relay[*message]
	questions *turn.Questions
	replies   *turn.Replies
	skipped   turn.Skipped
	read      chan struct{} // closed when the output was read to its end

	patches map[string][]string // paths of file changes by item; the reader's

	mu       sync.Mutex // guards the fields below
	requests int
	resets   time.Time // when a limit that was reached is lifted; zero if none was

	closing sync.Once
	exit    runner.Exit // set by closing
}

// running is a turn that codex may not have begun yet.
type running struct {
	turn  *turn.Turn[*message]
	id    string // "" until codex has named it
	begun bool   // codex works on it
}

func (s *session) ID() string            { return s.thread }
func (s *session) Done() <-chan struct{} { return s.conn.Done() }

func (s *session) nextID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return s.requests
}

// start writes the request that begins a turn. codex has one of its own for
// compacting, and streams its progress as that of any turn.
func (s *session) start(ctx context.Context, id int, prompt string) error {
	r := request{ID: id, Method: "turn/start", Params: turnParams{ThreadID: s.thread, Input: []textInput{{Type: "text", Text: prompt}}, Effort: s.effort}}
	if prompt == runner.CompactPrompt {
		r.Method, r.Params = "thread/compact/start", threadRef{ThreadID: s.thread}
	}
	return s.conn.Write(ctx, r)
}

// Turn starts a turn and listens until it is completed.
func (s *session) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	t, err := s.relay.Begin()
	if err != nil {
		return runner.Result{}, err
	}
	defer t.End()
	defer s.questions.WithdrawAll()
	r := &running{turn: t}
	id := s.nextID()
	if err := s.start(ctx, id, prompt); err != nil {
		return runner.Result{}, s.gone(err)
	}
	listener := &listener{session: s, each: each, used: map[string]bool{}}
	for {
		m, err := t.Next(ctx)
		if err != nil {
			return runner.Result{}, s.gone(err)
		}
		switch {
		case m.answers(id) && m.Error != nil:
			return runner.Result{}, callFailure("turn/start", m.Error)
		case m.answers(id) && prompt == runner.CompactPrompt: // turn/started names the turn
		case m.answers(id):
			var started turnResult
			if err := m.decodeResult(&started); err != nil || started.Turn.ID == "" {
				return runner.Result{}, &runner.Failure{Class: runner.Bug, Message: "turn/start: codex named no turn"}
			}
			r.name(started.Turn.ID)
		case m.Method == "" && m.Error != nil:
			s.log("codex refused a request: " + m.Error.Message)
		case m.Method == "thread/compacted" && prompt == runner.CompactPrompt && r.id == "" && s.isOurs(m):
			listener.accept() // a codex that makes no turn of it
			return runner.Result{}, nil
		case m.Method == "turn/started" && s.isOurs(m):
			r.start(m.about.turnOf())
		case m.Method == "turn/completed" && s.isOurs(m) && r.is(m.about.turnOf()):
			return listener.end(m.about.Turn)
		case s.isOurs(m) && r.is(m.about.turnOf()) || m.Method == "warning":
			listener.take(m)
		}
	}
}

// isOurs reports whether a message is about the session's thread: agents that
// codex starts have threads of their own.
func (s *session) isOurs(m *message) bool { return m.about.ThreadID == s.thread }

// name keeps the first name only: later ones are of other turns.
func (r *running) name(id string) {
	if r.id == "" {
		r.id = id
	}
}

func (r *running) start(id string) {
	if r.name(id); r.id != id || r.begun {
		return // another turn, or told before
	}
	r.begun = true
	r.turn.Begun(id)
}

func (r *running) is(id string) bool { return id != "" && id == r.id }

// gone is the error of a turn that cannot go on.
func (s *session) gone(err error) error { return turn.WhyNot(err, s.conn.Close) }

// Interrupt asks codex to end the turn, as soon as it has begun: codex ignores
// the interrupt of a turn that it has named but not begun. Without a turn it
// does nothing.
func (s *session) Interrupt(ctx context.Context) error {
	t, err := s.relay.Begun(ctx)
	if t == nil {
		return err
	}
	return s.conn.Write(ctx, request{ID: s.nextID(), Method: "turn/interrupt", Params: interruptParams{ThreadID: s.thread, TurnID: t.Name()}})
}

// Close ends the agent.
func (s *session) Close() runner.Exit {
	s.closing.Do(func() {
		s.questions.WithdrawAll()
		s.exit = s.conn.Close()
		<-s.read
		s.replies.Close()
		s.questions.WithdrawAll()
		s.questions.Wait()
		s.skipped.Total()
	})
	return s.exit
}

// readAll reads the agent's output to its end.
func (s *session) readAll() {
	defer close(s.read)
	defer s.relay.Close()
	stdio.ReadAll(s.conn, s.dispatch, s.skipped.Malformed)
}

func (s *session) dispatch(m *message) {
	if m.Method != "" && known[m.Method] && len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &m.about); err != nil {
			s.skipped.Add("malformed " + m.Method)
			if len(m.ID) == 0 {
				return
			}
		}
	}
	switch {
	case m.Method == "" && len(m.ID) == 0:
		s.skipped.Add("a message without method and id")
	case m.Method == "":
		if !s.relay.Pass(m) && m.Error != nil {
			s.log("codex refused a request: " + m.Error.Message)
		}
	case len(m.ID) > 0:
		s.asked(m)
	case !known[m.Method]:
		s.skipped.Add(m.Method)
	default:
		s.notice(m)
		s.relay.Pass(m)
	}
}

// notice keeps what outlasts a message: the paths that a file change is about,
// limits, and questions that codex has dropped.
func (s *session) notice(m *message) {
	switch m.Method {
	case "serverRequest/resolved":
		s.questions.Withdraw(string(m.about.RequestID))
	case "item/started":
		if m.about.Item != nil && m.about.Item.Type == "fileChange" {
			s.patches[m.about.Item.ID] = pathsOf(m.about.Item)
		}
	case "item/completed":
		if m.about.Item != nil {
			delete(s.patches, m.about.Item.ID)
		}
	case "turn/completed":
		clear(s.patches)
	case "account/rateLimits/updated":
		if resets := m.about.Limits.resets(); !resets.IsZero() {
			s.mu.Lock()
			s.resets = resets
			s.mu.Unlock()
		}
	}
}

// known are the methods of notifications and requests that den reads; the
// ignored ones are known to be of no interest.
var known = map[string]bool{
	"error": true, "warning": true, "model/rerouted": true, "thread/compacted": true,
	"turn/started": true, "turn/completed": true, "item/started": true, "item/completed": true,
	"item/agentMessage/delta": true, "thread/tokenUsage/updated": true, "account/rateLimits/updated": true,
	"serverRequest/resolved": true,

	approveCommand: true, approveFiles: true, approvePermissions: true, elicit: true, askUser: true,

	// Ignored.
	"thread/started": true, "thread/status/changed": true, "thread/readState/changed": true, "thread/name/updated": true,
	"thread/settings/updated": true, "turn/diff/updated": true, "turn/plan/updated": true,
	"item/commandExecution/outputDelta": true, "item/commandExecution/terminalInteraction": true,
	"item/fileChange/outputDelta": true, "item/fileChange/patchUpdated": true, "item/mcpToolCall/progress": true,
	"item/reasoning/summaryTextDelta": true, "item/reasoning/summaryPartAdded": true, "item/reasoning/textDelta": true,
	"mcpServer/startupStatus/updated": true, "remoteControl/status/changed": true, "configWarning": true,
	"deprecationNotice": true, "account/updated": true, "skills/changed": true,
}
