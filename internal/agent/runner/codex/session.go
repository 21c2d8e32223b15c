package codex

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"den/internal/agent/runner"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
)

// session is one running app-server with one thread.
type session struct {
	conn      *stdio.Conn
	peer      *jsonrpc.Peer
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

	mu     sync.Mutex // guards the field below
	resets time.Time  // when a limit that was reached is lifted; zero if none was

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

// start writes the request that begins a turn. codex has one of its own for
// compacting, and streams its progress as that of any turn. The answer is passed
// on in its place among what else codex says.
func (s *session) start(ctx context.Context, r *running, prompt string) (id int64, err error) {
	method, params := "turn/start", any(turnParams{ThreadID: s.thread, Input: []textInput{{Type: "text", Text: prompt}}, Effort: s.effort})
	if prompt == runner.CompactPrompt {
		method, params = "thread/compact/start", threadRef{ThreadID: s.thread}
	}
	return s.peer.Send(ctx, method, params, func(m jsonrpc.Message, err error) {
		s.relay.Pass(&message{Message: m, answers: r, err: err})
	})
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
	id, err := s.start(ctx, r, prompt)
	if err != nil {
		return runner.Result{}, s.gone(err)
	}
	defer s.peer.Forget(id)
	listener := &listener{session: s, each: each, used: map[string]bool{}}
	for {
		m, err := t.Next(ctx)
		if err != nil {
			return runner.Result{}, s.gone(err)
		}
		switch {
		case m.Method == "" && m.answers != r: // of a turn that is over
		case m.Error != nil:
			return runner.Result{}, callFailure("turn/start", m.Error)
		case m.err != nil:
			return runner.Result{}, s.gone(m.err)
		case m.Method == "" && prompt == runner.CompactPrompt: // turn/started names the turn
		case m.Method == "":
			var started turnResult
			if err := json.Unmarshal(m.Result, &started); err != nil || started.Turn.ID == "" {
				return runner.Result{}, &runner.Failure{Class: runner.Bug, Message: "turn/start: codex named no turn"}
			}
			r.name(started.Turn.ID)
		case m.Method == "thread/compacted" && prompt == runner.CompactPrompt && r.id == "" && s.isOurs(m):
			listener.accept() // a codex that makes no turn of it
			return runner.Result{}, nil
		case m.Method == "turn/started" && s.isOurs(m):
			r.start(m.turnOf())
		case m.Method == "turn/completed" && s.isOurs(m) && r.is(m.turnOf()):
			return listener.end(m.about.Turn)
		case s.isOurs(m) && r.is(m.turnOf()) || m.Method == "warning":
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
	_, err = s.peer.Send(ctx, "turn/interrupt", interruptParams{ThreadID: s.thread, TurnID: t.Name()}, func(m jsonrpc.Message, _ error) {
		if m.Error != nil {
			s.log("codex refused a request: " + m.Error.Message)
		}
	})
	return err
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
	s.peer.Read(func(m jsonrpc.Message) { s.dispatch(&message{Message: m}) })
}

// dispatch takes a request or a notification.
func (s *session) dispatch(m *message) {
	if known[m.Method] && len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &m.about); err != nil {
			s.skipped.Add("malformed " + m.Method)
			if len(m.ID) == 0 {
				return
			}
		}
	}
	switch {
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
		if resets := resetsOf(m.about.Limits); !resets.IsZero() {
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

	wire.ApproveCommand: true, wire.ApproveFiles: true, wire.ApprovePermissions: true, wire.Elicit: true, wire.AskUser: true,

	// Ignored.
	"thread/started": true, "thread/status/changed": true, "thread/readState/changed": true, "thread/name/updated": true,
	"thread/settings/updated": true, "turn/diff/updated": true, "turn/plan/updated": true,
	"item/commandExecution/outputDelta": true, "item/commandExecution/terminalInteraction": true,
	"item/fileChange/outputDelta": true, "item/fileChange/patchUpdated": true, "item/mcpToolCall/progress": true,
	"item/reasoning/summaryTextDelta": true, "item/reasoning/summaryPartAdded": true, "item/reasoning/textDelta": true,
	"mcpServer/startupStatus/updated": true, "remoteControl/status/changed": true, "configWarning": true,
	"deprecationNotice": true, "account/updated": true, "skills/changed": true,
}
