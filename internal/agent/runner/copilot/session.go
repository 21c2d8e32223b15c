package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/agent/runner/stdio"
	"den/internal/agent/runner/turn"
)

// session is an open conversation with the agent.
type session struct {
	options  runner.Options
	conn     *stdio.Conn
	peer     *jsonrpc.Peer
	provider *provider // or nil: the vendor's service
	skills   []string  // directories of skills

	model string // of the goroutine that calls Turn

	ctx       context.Context // ends with the session
	cancel    context.CancelFunc
	reader    sync.WaitGroup
	relay     turn.Relay[event]
	questions *turn.Questions
	refusals  *turn.Replies
	skipped   turn.Skipped
	closeOnce func() runner.Exit

	mu          sync.Mutex        // guards the fields below
	id          string            // set once, by open; the reader runs already
	interrupted *turn.Turn[event] // the last that was; or nil
}

func newSession(conn *stdio.Conn, o runner.Options) *session {
	s := &session{options: o, conn: conn, peer: jsonrpc.New(conn), questions: turn.NewQuestions(o.Ask), refusals: turn.NewReplies(conn.Write, o.Log)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.skipped.Log = o.Log
	s.closeOnce = sync.OnceValue(s.close)
	s.reader.Go(func() {
		defer s.relay.Close()
		s.peer.Read(s.handle)
	})
	return s
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *session) Done() <-chan struct{} { return s.conn.Done() }
func (s *session) Close() runner.Exit    { return s.closeOnce() }

func (s *session) close() runner.Exit {
	s.cancel()
	s.questions.WithdrawAll()
	exit := s.conn.Close()
	s.refusals.Close()
	s.reader.Wait()
	s.questions.Wait()
	s.skipped.Total()
	return exit
}

// handle takes a message of the agent, on the reader's goroutine.
func (s *session) handle(m jsonrpc.Message) {
	if m.ID != nil {
		s.options.Log("the agent's request '" + m.Method + "' is not known")
		s.refusals.Send(jsonrpc.Message{JSONRPC: "2.0", ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}})
		return
	}
	switch m.Method {
	case "session.event":
	case "session.lifecycle", "host.event":
		return // the life of sessions and tasks: den has one, and knows
	default:
		s.skipped.Add(m.Method)
		return
	}
	var params struct {
		SessionID string `json:"sessionId"`
		Event     event  `json:"event"`
	}
	_ = json.Unmarshal(m.Params, &params) // Best effort: an event without a type is no event.
	if params.SessionID == s.ID() {
		s.relay.Pass(params.Event) // between turns nobody wants to know
	}
}

// Turn sends a prompt and returns when the agent is idle again.
func (s *session) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	t, err := s.relay.Begin()
	if err != nil {
		return runner.Result{}, err
	}
	defer t.End()
	defer s.questions.WithdrawAll()
	id, err := s.peer.Send(ctx, "session.send", map[string]string{"sessionId": s.ID(), "prompt": prompt}, func(_ jsonrpc.Message, err error) {
		if err != nil {
			s.relay.Pass(event{refused: err})
		}
	})
	if err != nil {
		return runner.Result{}, s.peer.WhyNot(err)
	}
	defer s.peer.Forget(id)
	t.Begun("") // the agent does not name it
	c := &collector{each: each, skip: s.skipped.Add, model: s.model, tools: map[string]*toolUse{}}
	err = s.listen(ctx, t, c)
	s.model = c.model
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return runner.Result{}, err
	}
	c.end()
	result := runner.Result{Text: c.said, Usage: c.usage, Cancelled: c.aborted || s.wasInterrupted(t)}
	if err == nil && c.failure != nil && !result.Cancelled {
		err = c.failure
	}
	return result, err
}

func (s *session) wasInterrupted(t *turn.Turn[event]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interrupted == t
}

// listen takes the turn's events until the agent is idle.
func (s *session) listen(ctx context.Context, t *turn.Turn[event], c *collector) error {
	for {
		e, err := t.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return jsonrpc.Gone(s.conn.Close())
		case err != nil:
			return err
		case e.refused != nil:
			return refusal(e.refused)
		}
		wasAccepted := c.accepted
		if c.take(e) {
			return nil
		}
		switch e.Type {
		case "permission.requested":
			s.ask(c, e)
		case "permission.completed": // perhaps by somebody else
			s.questions.Withdraw(e.Data.RequestID)
		}
		if c.accepted && !wasAccepted && s.wasInterrupted(t) {
			// It was interrupted before it had the prompt: it may not have noticed.
			if err := s.abort(ctx); err != nil {
				return err
			}
		}
	}
}

// refusal is why the agent did not take the prompt.
func refusal(err error) error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		return &runner.Failure{Class: runner.Bug, Message: answer.Message}
	}
	return err
}

// Interrupt asks the agent to end its turn.
func (s *session) Interrupt(ctx context.Context) error {
	t, err := s.relay.Begun(ctx)
	if t == nil {
		return err // nil: the turn has ended by itself
	}
	s.mu.Lock()
	s.interrupted = t
	s.mu.Unlock()
	s.questions.WithdrawAll()
	return s.abort(ctx)
}

// abort writes the request; its answer is the turn's end.
func (s *session) abort(ctx context.Context) error {
	_, err := s.peer.Send(ctx, "session.abort", map[string]string{"sessionId": s.ID()}, func(jsonrpc.Message, error) {})
	if err != nil {
		return s.peer.WhyNot(err)
	}
	return nil
}

// ask asks for the permission that an event is about, beside the turn.
func (s *session) ask(c *collector, e event) {
	id, asked := e.Data.RequestID, e.Data.PermissionRequest
	s.questions.Ask(id, requestOf(asked, c.nameOf(asked.ToolCallID)), func(d permission.Decision) { s.decide(id, d) })
}

// decide tells the agent what was decided. An "always" stays with den's policy:
// the agent goes on asking.
func (s *session) decide(id string, d permission.Decision) {
	result := map[string]string{"kind": "approve-once"}
	if !d.Allow {
		result = map[string]string{"kind": "reject"}
		if d.Reason != "" {
			result["feedback"] = d.Reason
		}
	}
	params := map[string]any{"sessionId": s.ID(), "requestId": id, "result": result}
	if err := s.peer.Call(s.ctx, "session.permissions.handlePendingPermissionRequest", params, nil); err != nil && s.ctx.Err() == nil {
		s.options.Log("answer the agent's question: " + err.Error())
	}
	if !d.Allow && d.Interrupt {
		if err := s.Interrupt(s.ctx); err != nil && s.ctx.Err() == nil {
			s.options.Log("interrupt the turn after a denial: " + err.Error())
		}
	}
}
