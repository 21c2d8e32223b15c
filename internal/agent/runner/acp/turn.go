package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
)

// turn is a prompt that the agent works on.
type turn struct {
	items chan item     // from the reader, in the order of the wire
	sent  chan struct{} // closed when the prompt was written
	over  chan struct{} // closed when Turn returns

	asking  context.Context // of the questions that the agent asks; ends with the turn
	silence context.CancelFunc

	mu          sync.Mutex // guards the fields below
	interrupted bool
	allowed     []permission.Request // what was allowed in this turn
}

// item is something of a turn: an update, a question, what became of one, or
// the end.
type item struct {
	update     *update
	question   *jsonrpc.Message // session/request_permission
	permission permissionParams
	result     *jsonrpc.Message
	err        error  // with the end
	denied     string // the id of a tool's use that was denied
	withdrawn  string // the id of a question
	end        bool
}

func newTurn(ctx context.Context) *turn {
	t := &turn{items: make(chan item, maxItems), sent: make(chan struct{}), over: make(chan struct{})}
	t.asking, t.silence = context.WithCancel(ctx)
	return t
}

// put hands an item to the goroutine that runs the turn.
func (t *turn) put(i item) {
	select {
	case t.items <- i:
	case <-t.over:
	}
}

// interrupt notes that the turn was asked to end, and withdraws its questions.
func (t *turn) interrupt() {
	t.mu.Lock()
	t.interrupted = true
	t.mu.Unlock()
	t.silence()
}

func (t *turn) wasInterrupted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.interrupted
}

func (t *turn) allow(r permission.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.allowed = append(t.allowed, r)
}

// hasAllowed tells whether something like r was allowed in this turn, so that
// nobody is asked twice: once by the agent, and once when it acts on it.
func (t *turn) hasAllowed(like func(permission.Request) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.allowed, like)
}

// Turn sends a prompt and returns when the agent has answered it. The protocol
// has no system prompt, so a new session's stands before its first prompt.
func (s *session) Turn(ctx context.Context, prompt string, each func(runner.Event)) (runner.Result, error) {
	t := newTurn(s.ctx)
	defer close(t.over)
	defer t.silence()
	defer context.AfterFunc(ctx, t.silence)()
	s.mu.Lock()
	s.turn = t
	spentBefore := s.spent
	c := newCollector(s.model, each)
	c.spent = spentBefore
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.turn = nil
		s.mu.Unlock()
	}()

	params := sdk.PromptRequest{SessionId: sdk.SessionId(s.ID()), Prompt: []sdk.ContentBlock{sdk.TextBlock(s.introduced(prompt))}}
	id, err := s.peer.Send(ctx, sdk.AgentMethodSessionPrompt, params, func(m jsonrpc.Message, err error) {
		t.put(item{result: &m, err: err, end: true})
	})
	if err != nil {
		return runner.Result{}, s.peer.WhyNot(err)
	}
	defer s.peer.Forget(id)
	close(t.sent)
	end, err := s.runTurn(ctx, t, c)
	if err != nil {
		return runner.Result{}, err
	}
	c.end()
	return s.result(t, c, end, spentBefore)
}

func (s *session) introduced(prompt string) string {
	if s.introduce == "" {
		return prompt
	}
	return s.introduce + "\n\n" + prompt
}

// runTurn takes the turn's items until its end.
func (s *session) runTurn(ctx context.Context, t *turn, c *collector) (item, error) {
	for {
		select {
		case <-ctx.Done():
			return item{}, ctx.Err()
		case i := <-t.items:
			switch {
			case i.end:
				return i, nil
			case i.question != nil:
				s.question(t, c, i)
			case i.withdrawn != "":
				s.withdraw(i.withdrawn)
			case i.denied != "":
				c.tools[i.denied].denied = true
			case !c.update(*i.update):
				s.skipped.Add("update " + i.update.Type)
			}
		}
		if c.accepted {
			s.introduce = ""
		}
	}
}

// result is how the turn ended.
func (s *session) result(t *turn, c *collector, end item, spentBefore float64) (runner.Result, error) {
	r := runner.Result{Text: c.said, Cancelled: t.wasInterrupted()}
	var failure *runner.Failure
	if errors.As(end.err, &failure) {
		return r, end.err // the process ended
	}
	if end.err != nil {
		if r.Cancelled {
			return r, nil // some agents answer a cancelled prompt with an error
		}
		return r, failureOf(end.err, s.login)
	}
	c.accept()
	s.introduce = ""
	var got promptResult
	if err := decode(end.result.Result, &got); err != nil {
		return r, &runner.Failure{Class: runner.Bug, Message: "the agent's answer to the prompt cannot be read: " + err.Error()}
	}
	r.Usage = s.usage(got, spentBefore)
	if r.Usage != (runner.Usage{}) {
		c.each(runner.Event{Kind: runner.Used, Usage: &r.Usage})
	}
	if c.isSilent() && !r.Cancelled && sdk.StopReason(got.StopReason) == sdk.StopReasonEndTurn {
		// Who asked would be told nothing.
		return r, &runner.Failure{Class: runner.Bug, Message: "the agent ended its turn without a word"}
	}
	return s.stopped(r, got.StopReason)
}

// stopped gives the protocol's reasons to end a turn their meaning.
func (s *session) stopped(r runner.Result, reason string) (runner.Result, error) {
	switch sdk.StopReason(reason) {
	case sdk.StopReasonEndTurn:
	case sdk.StopReasonCancelled:
		r.Cancelled = true
	case sdk.StopReasonMaxTokens:
		return r, &runner.Failure{Class: runner.Context, Message: "the model reached its limit of tokens"}
	case sdk.StopReasonMaxTurnRequests:
		return r, &runner.Failure{Class: runner.Bug, Message: "the agent reached its limit of requests in one turn"}
	case sdk.StopReasonRefusal:
		return r, &runner.Failure{Class: runner.Bug, Message: "the agent refused the prompt"}
	default:
		s.options.Log(fmt.Sprintf("unknown reason '%s' for the end of a turn", reason))
	}
	return r, nil
}

// usage is what the turn used.
func (s *session) usage(got promptResult, spentBefore float64) runner.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := runner.Usage{CostUSD: max(0, s.spent-spentBefore)}
	switch tokens := got.Meta.Quota.Tokens; {
	case got.Usage != nil:
		now := *got.Usage
		if s.driver.SumsUsage {
			now, s.counted = now.since(s.counted), now
		}
		u.InputTokens, u.OutputTokens = now.input(), now.Output
	case tokens != nil:
		u.InputTokens, u.OutputTokens = tokens.Input, tokens.Output
	}
	return u
}

// since is what came on top of an earlier count; a count that went back was
// begun anew.
func (u tokenUsage) since(earlier tokenUsage) tokenUsage {
	if u.Input < earlier.Input || u.Output < earlier.Output {
		return u
	}
	return tokenUsage{
		Input: u.Input - earlier.Input, Output: u.Output - earlier.Output,
		CachedRead: u.CachedRead - earlier.CachedRead, CachedWrite: u.CachedWrite - earlier.CachedWrite,
		Thought: u.Thought - earlier.Thought, Total: u.Total - earlier.Total,
	}
}

// input is all input tokens: agents count cached ones within the input or
// beside it, and their total tells which.
func (u tokenUsage) input() int64 {
	beside := u.CachedRead + u.CachedWrite
	if u.Total >= u.Input+u.Output+beside {
		return u.Input + beside
	}
	return u.Input
}
