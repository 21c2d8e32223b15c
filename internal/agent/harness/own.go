package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/base/fault"
)

// ownCommands need no server.
var ownCommands = map[string]func(*Harness, context.Context, ipc.Request, *ipc.Client) (any, error){
	ipc.Compact:   (*Harness).compact,
	ipc.Clear:     (*Harness).clear,
	ipc.Status:    (*Harness).status,
	ipc.Pause:     (*Harness).pause,
	ipc.Resume:    (*Harness).resume,
	ipc.Shutdown:  (*Harness).shutdown,
	ipc.Prompt:    (*Harness).takePrompt,
	ipc.Confirm:   (*Harness).confirm,
	ipc.Converse:  (*Harness).converse,
	ipc.Cancel:    (*Harness).cancel,
	ipc.Approvals: (*Harness).approvals,
	ipc.Decide:    (*Harness).decide,
	ipc.Watch:     (*Harness).watch,
}

// compact has the agent shorten what it remembers, between two turns.
func (h *Harness) compact(context.Context, ipc.Request, *ipc.Client) (any, error) {
	if _, ok := h.options.Driver.(runner.Compacter); !ok {
		return nil, fault.Hintf(fault.Errorf(fault.Unsupported, "an agent of the backend '%s' cannot be told to compact its conversation", h.config.Backend), "'den channel clear' begins a new one")
	}
	if !h.runner.Running() {
		return nil, fault.Errorf(fault.NotRunning, "the agent does not run")
	}
	_, err := h.runner.SendPrompt(runner.Prompt{Text: runner.CompactPrompt})
	return struct{}{}, err
}

func (h *Harness) clear(context.Context, ipc.Request, *ipc.Client) (any, error) {
	return struct{}{}, h.runner.Clear()
}

func (h *Harness) status(ctx context.Context, _ ipc.Request, _ *ipc.Client) (any, error) {
	return h.currentStatus(ctx)
}

func (h *Harness) currentStatus(ctx context.Context) (ipc.AgentStatus, error) {
	state, err := h.runner.State(ctx)
	if err != nil {
		return ipc.AgentStatus{}, err
	}
	turns, last := h.runner.Turns()
	paused := h.runner.Paused()
	if paused == "" {
		paused, _ = h.asleep()
	}
	s := ipc.AgentStatus{
		Running: h.runner.Running(), Paused: paused != "", CircuitOpen: h.runner.CircuitOpen(), TurnCount: turns,
		State: string(state.Activity), Since: state.Since, Why: state.Why, Question: state.Question, Pending: h.runner.Pending(), SessionID: h.runner.SessionID(),
		Connected: h.chat != nil && h.chat.Connected(),
	}
	if !last.IsZero() {
		at := float64(last.UnixMilli()) / 1000
		s.LastActivation = &at
	}
	if f := h.runner.LastFailure(); f != nil {
		s.Failure = string(f.Class)
	}
	h.mu.Lock()
	s.Description = cmp.Or(h.task, h.said)
	h.mu.Unlock()
	switch {
	case state.Activity == conversation.Busy || state.Activity == conversation.Asking:
		s.Activity = "working"
	case s.Paused:
		s.Activity, s.Description = "paused", paused
	default:
		s.Activity = "idle"
	}
	spent := h.over.ledger.Check(h.clock())
	s.Budget, s.BudgetUntil = spent.String(), spent.Until
	if s.Budget != "" {
		s.BudgetLevel = string(spent.Level)
	}
	if s.CircuitOpen {
		s.CircuitSince = h.runner.CircuitSince()
	}
	watching := h.over.supervisor.Status()
	s.Supervisor, s.SupervisorError = string(watching.State), watching.LastError
	if s.Description == "" {
		s.Description = "nothing"
	}
	return s, nil
}

func (h *Harness) pause(_ context.Context, r ipc.Request, _ *ipc.Client) (any, error) {
	why := r.Why
	if why == "" {
		why = "paused by a person"
	}
	if err := h.sleepAgain(); err != nil {
		return nil, err
	}
	return struct{}{}, h.runner.Pause(why)
}

func (h *Harness) resume(context.Context, ipc.Request, *ipc.Client) (any, error) {
	h.over.supervisor.Returned()
	if err := h.wake(); err != nil {
		return nil, err
	}
	return struct{}{}, h.runner.Resume()
}

// shutdown ends the harness once the response is on its way.
func (h *Harness) shutdown(context.Context, ipc.Request, *ipc.Client) (any, error) {
	time.AfterFunc(100*time.Millisecond, h.end)
	return struct{}{}, nil
}

func (h *Harness) takePrompt(_ context.Context, r ipc.Request, _ *ipc.Client) (any, error) {
	receipt, err := h.runner.SendPrompt(runner.Prompt{ID: r.MessageID, Text: r.Message, Route: Route{Kind: RouteNudge}.encode()})
	return ipc.Taken{Receipt: receipt, Found: true}, err
}

func (h *Harness) confirm(ctx context.Context, r ipc.Request, _ *ipc.Client) (any, error) {
	receipt, found, err := h.runner.Confirm(ctx, r.MessageID)
	return ipc.Taken{Receipt: receipt, Found: found}, err
}

// maxDepth bounds how long a chain of agents that ask each other may be.
const maxDepth = 4

// converse gives the agent a message and waits for the turn's end.
func (h *Harness) converse(ctx context.Context, r ipc.Request, _ *ipc.Client) (any, error) {
	if err := h.checkCallers(r.Callers); err != nil {
		return nil, err
	}
	if len(r.Callers) == 0 {
		h.over.supervisor.Returned() // a person asks
	}
	if r.MessageID == "" {
		r.MessageID = "ask-" + r.ID
	}
	ended := h.awaitTurn(r.MessageID) // before it is sent, so that its end is not missed
	defer h.forgetTurn(r.MessageID, ended)
	route := Route{Kind: RouteAsker, Sender: strings.Join(r.Callers, ", "), Bot: len(r.Callers) > 0}
	receipt, err := h.runner.SendPrompt(runner.Prompt{ID: r.MessageID, Text: r.Message, Route: route.encode()})
	if err != nil {
		return nil, err
	}
	if receipt.Progress == conversation.Answered {
		return h.earlierAnswer(r.MessageID)
	}
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Timeout*float64(time.Second)))
		defer cancel()
	}
	select {
	case o := <-ended:
		if o.Failure != nil {
			return nil, fault.Hintf(fault.Errorf(fault.Internal, "the agent could not answer: %w", o.Failure), "%s", o.Failure.Advice())
		}
		return h.withTools(conversation.Answer{
			ID: r.MessageID, Text: o.Result.Text, DurationMs: o.Duration.Milliseconds(), Usage: o.Result.Usage, Cancelled: o.Result.Cancelled,
			Attempts: o.Attempts,
		}), nil
	case <-ctx.Done():
		return nil, NotAnswered(fault.Errorf(fault.Timeout, "the agent has not answered yet"), h.broker, r.MessageID)
	}
}

// NotAnswered adds to the error of a message that is not answered in time what
// the agent waits for, and what to do. b decides for the agent; it may be nil.
func NotAnswered(err error, b *permission.Broker, id string) error {
	again := fmt.Sprintf("the message stays: ask again with --id %s and the same text", id)
	if b != nil {
		if open := openApprovals(b); len(open) > 0 {
			return fault.Hintf(fmt.Errorf("%w: it waits for a decision: %s (approval %s)", err, requestText(open[0].Request), open[0].ID),
				"'den attention' lists it, with the command that decides it; %s", again)
		}
	}
	return fault.Hintf(err, "%s", again)
}

// withTools adds to an answer how it is known and which tools were used for it.
func (h *Harness) withTools(a conversation.Answer) conversation.Answer {
	a.Source, a.Certainty = h.config.Backend+" protocol", conversation.Exact
	tools, complete := h.runner.ToolsOf(a.ID)
	a.Tools, a.ToolsIncomplete = tools, !complete
	return a
}

// awaitTurn returns a channel that receives how the turn of a message ended.
func (h *Harness) awaitTurn(id string) chan runner.Outcome {
	ended := make(chan runner.Outcome, 1) // room for the one
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns[id] = append(h.turns[id], ended)
	return ended
}

func (h *Harness) forgetTurn(id string, ended chan runner.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.turns[id], func(c chan runner.Outcome) bool { return c == ended })
	if len(rest) == 0 {
		delete(h.turns, id)
		return
	}
	h.turns[id] = rest
}

// checkCallers refuses circles and long chains of agents that wait for each
// other.
func (h *Harness) checkCallers(callers []string) error {
	if slices.Contains(callers, h.config.Agent) {
		return fault.Errorf(fault.Denied, "'%s' waits for itself: %v", h.config.Agent, callers)
	}
	if len(callers) >= maxDepth {
		return fault.Errorf(fault.Denied, "%d agents wait for each other already: %v", len(callers), callers)
	}
	return nil
}

// earlierAnswer is that of a message that was answered before.
func (h *Harness) earlierAnswer(id string) (any, error) {
	m, err := h.runner.Message(id)
	if err != nil {
		return nil, err
	}
	if m.Forgotten {
		return nil, fault.Errorf(fault.NotFound, "message '%s' was answered, and the answer is not kept any more", id)
	}
	if m.Answer == "" && m.Reason != "" {
		return nil, fault.Errorf(fault.Internal, "the agent could not answer: %s", m.Reason)
	}
	return h.withTools(conversation.Answer{ID: id, Text: m.Answer, Attempts: m.Attempts}), nil
}

func (h *Harness) cancel(context.Context, ipc.Request, *ipc.Client) (any, error) {
	return struct{}{}, h.runner.Cancel()
}

// watch sends the state now and whenever it changes, until the client leaves.
func (h *Harness) watch(ctx context.Context, _ ipc.Request, c *ipc.Client) (any, error) {
	return struct{}{}, h.runner.Follow(ctx, func() error {
		status, err := h.currentStatus(ctx)
		if err != nil {
			return err
		}
		return c.Send(ipc.StateLine{Type: ipc.TypeState, AgentStatus: status})
	})
}
