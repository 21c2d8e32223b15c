package acp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/permission"
	"den/internal/agent/runner/jsonrpc"
)

// handle takes a request or a notification of the agent, on the reader's
// goroutine.
func (s *session) handle(m jsonrpc.Message) {
	if m.ID == nil {
		s.notified(m)
		return
	}
	switch m.Method {
	case sdk.ClientMethodSessionRequestPermission:
		s.askedPermission(m)
	default:
		s.answer(m)
	}
}

func (s *session) notified(m jsonrpc.Message) {
	switch m.Method {
	case sdk.ClientMethodSessionUpdate:
		var n notification
		if err := decode(m.Params, &n); err != nil || !s.isOurs(n.SessionID) {
			s.skipped.Add("update that is not of this session")
			return
		}
		s.updated(n.Update)
	case "$/cancel_request":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = decode(m.Params, &p) // Best effort: without an id there is nothing to withdraw.
		s.withdraw(string(p.ID))
		if t := s.currentTurn(); t != nil {
			t.put(item{withdrawn: string(p.ID)}) // behind the question, which may still be in the queue
		}
	default:
		s.skipped.Add("notification " + m.Method)
	}
}

// updated notes what outlives a turn, and hands the update to the turn.
// Updates between turns, such as the history of a loaded session, go no further.
func (s *session) updated(u update) {
	s.mu.Lock()
	s.updates++
	if usd, ok := u.cost(); ok {
		s.spent = usd
	}
	if option := optionOf(u.ConfigOptions, "model"); option.ID != "" {
		s.model = option.current()
	}
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.put(item{update: &u})
	}
}

// withdraw ends the answering of a request.
func (s *session) withdraw(id string) {
	s.mu.Lock()
	cancel := s.asked[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// askedPermission hands a question to the turn, which knows the tool that it
// is about.
func (s *session) askedPermission(m jsonrpc.Message) {
	i := item{question: &m}
	if err := decode(m.Params, &i.permission); err != nil {
		s.work(s.ctx, m, func(context.Context) (any, error) { return nil, invalid("not a request for permission") })
		return
	}
	t := s.currentTurn()
	if t == nil {
		s.work(s.ctx, m, func(context.Context) (any, error) {
			s.options.Log("the agent asked for permission outside a turn: cancelled")
			return outcome("", false), nil
		})
		return
	}
	t.put(i)
}

// question asks Options.Ask, beside the turn.
func (s *session) question(t *turn, c *collector, i item) {
	c.accept()
	use, asked := c.question(i.permission.ToolCall)
	r := asked.permissionRequest()
	options := i.permission.Options
	s.work(t.asking, *i.question, func(ctx context.Context) (any, error) {
		d := s.options.Ask(ctx, r)
		if ctx.Err() != nil {
			return outcome("", false), nil
		}
		id, found := choose(options, d)
		if !found {
			s.options.Log(fmt.Sprintf("the agent offers no option to answer '%s' with: cancelled", r.Text))
		}
		if d.Allow && found {
			t.allow(r)
		}
		if !d.Allow {
			t.put(item{denied: use.ID})
		}
		if !d.Allow && d.Interrupt {
			if err := s.Interrupt(s.ctx); err != nil { // which ends ctx
				s.options.Log("interrupt the turn after a denial: " + err.Error())
			}
			return outcome("", false), nil // as every question of a cancelled turn
		}
		return outcome(id, found), nil
	})
}

// answer answers all requests but those for permission.
func (s *session) answer(m jsonrpc.Message) {
	handlers := map[string]func(context.Context, json.RawMessage) (any, error){}
	if s.driver.Files {
		handlers[sdk.ClientMethodFsReadTextFile] = s.readFile
		handlers[sdk.ClientMethodFsWriteTextFile] = s.writeFile
	}
	if s.driver.Terminals != nil {
		handlers[sdk.ClientMethodTerminalCreate] = s.createTerminal
		handlers[sdk.ClientMethodTerminalOutput] = s.terminalOutput
		handlers[sdk.ClientMethodTerminalWaitForExit] = s.waitForTerminal
		handlers[sdk.ClientMethodTerminalKill] = s.killTerminal
		handlers[sdk.ClientMethodTerminalRelease] = s.releaseTerminal
	}
	handler := handlers[m.Method]
	if handler == nil {
		s.skipped.Add("request " + m.Method)
		handler = func(context.Context, json.RawMessage) (any, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}
		}
	}
	s.work(s.ctx, m, func(ctx context.Context) (any, error) { return handler(ctx, m.Params) })
}

// work answers a request on a goroutine of its own. It waits while too many
// are being answered; all of them end with the session, at the latest. What
// nobody wants any more then is not answered.
func (s *session) work(ctx context.Context, m jsonrpc.Message, answer func(context.Context) (any, error)) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // Close waits for those that began before
		cancel()
		return
	}
	s.asked[string(m.ID)] = cancel
	s.workers.Go(func() {
		defer s.answered(m, cancel)
		result, err := answer(ctx)
		if err := s.peer.Reply(s.ctx, m.ID, result, err); err != nil && s.ctx.Err() == nil {
			s.options.Log("answer the agent's request '" + m.Method + "': " + err.Error())
		}
	})
}

func (s *session) answered(m jsonrpc.Message, cancel context.CancelFunc) {
	cancel()
	s.mu.Lock()
	delete(s.asked, string(m.ID))
	s.mu.Unlock()
	<-s.busy
}

// ask asks for something that the agent does through den, unless the like of it
// was allowed in this turn.
func (s *session) ask(ctx context.Context, r permission.Request, like func(permission.Request) bool) error {
	t := s.currentTurn()
	if t != nil {
		if t.hasAllowed(like) {
			return nil
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.asking, cancel)()
	}
	d := s.options.Ask(ctx, r)
	if err := ctx.Err(); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeCancelled, Message: "nobody answered before the turn ended"}
	}
	if !d.Allow {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: firstOf(d.Reason, "permission denied")}
	}
	if t != nil {
		t.allow(r)
	}
	return nil
}
