package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/agent"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/process/pty"
	"den/internal/process/supervise"
	"den/internal/session"
	"den/internal/session/wire"
	"den/internal/ui/dashboard"
)

// joined is what there is of some words.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// choice answers what an agent asks on its screen.
type choice struct {
	Agent    string `json:"agent"`
	Question string `json:"question"` // its id
	Option   int    `json:"option"`   // its number, from 1
}

func (c choice) valid() error {
	if c.Agent == "" || c.Question == "" || c.Option < 1 {
		return fault.Errorf(fault.Usage, "an answer has an agent, a question, and the number of an option")
	}
	return nil
}

func (c choice) entry() AuditEntry {
	return AuditEntry{Action: "answer", Agent: c.Agent, Detail: joined(c.Question, strconv.Itoa(c.Option))}
}

func (a *actions) answer(ctx context.Context, c choice, processes []int) (any, error) {
	var answered keeper.Answered
	err := a.hub.keeper.Call(ctx, keeper.MethodAnswer, keeper.Answer{Agent: c.Agent, Question: c.Question, Option: strconv.Itoa(c.Option), By: a.by, For: processes}, &answered)
	return answered, err
}

// words are a message to an agent.
type words struct {
	Agent string `json:"agent"`
	ID    string `json:"id"` // the page's: the same again is the same message
	Text  string `json:"text"`
}

func (m words) valid() error {
	if m.Agent == "" || strings.TrimSpace(m.Text) == "" {
		return fault.Errorf(fault.Usage, "a message has an agent and a text")
	}
	return nil
}

func (m words) entry() AuditEntry {
	return AuditEntry{Action: "message", Agent: m.Agent, Detail: m.Text}
}

// message queues a message: it is delivered when the agent can take it.
func (a *actions) message(ctx context.Context, m words, processes []int) (any, error) {
	var nudged keeper.Nudged
	err := a.hub.keeper.Call(ctx, keeper.MethodNudge, keeper.Agent{Name: m.Agent, Text: m.Text, NudgeID: m.ID, By: a.by, For: processes}, &nudged)
	return nudged, err
}

// order stops or starts an agent.
type order struct {
	Agent string `json:"agent"`
	Order string `json:"order"`
}

func (o order) valid() error {
	known := []string{keeper.OrderStart, keeper.OrderStop, keeper.OrderRestart, keeper.OrderReset}
	if o.Agent == "" || !slices.Contains(known, o.Order) {
		return fault.Errorf(fault.Usage, "an order has an agent, and is one of %s", strings.Join(known, ", "))
	}
	return nil
}

func (o order) entry() AuditEntry {
	return AuditEntry{Action: "order", Agent: o.Agent, Detail: o.Order}
}

func (a *actions) order(ctx context.Context, o order, processes []int) (any, error) {
	var ps keeper.Ps
	err := a.hub.keeper.Call(ctx, keeper.MethodOrder, keeper.Agent{Name: o.Agent, Order: o.Order, By: a.by, For: processes}, &ps)
	return struct{}{}, err
}

// reply answers what the cell of a session asks.
type reply struct {
	Session  string `json:"session"` // its id
	Question string `json:"question"`
	Text     string `json:"text"`
}

func (c reply) valid() error {
	if c.Session == "" {
		return fault.Errorf(fault.Usage, "an answer to a cell has a session")
	}
	return nil
}

// entry leaves out what was answered: it may be a password.
func (c reply) entry() AuditEntry {
	return AuditEntry{Action: "answer", Session: c.Session, Detail: c.Question}
}

// answerCell types the answer, and does not wait for what it leads to.
func (a *actions) answerCell(ctx context.Context, c reply, processes []int) (any, error) {
	s, err := a.vouched(ctx, c.Session, keeper.ActAnswer, processes)
	if err != nil {
		return nil, err
	}
	r, err := s.Answer(ctx, wire.Input{Text: &c.Text, Enter: true}, session.Run{Question: c.Question, Timeout: time.Second})
	return map[string]string{"status": string(r.Status)}, err
}

// end stops a session.
type end struct {
	Session string `json:"session"` // its id
}

func (e end) valid() error {
	if e.Session == "" {
		return fault.Errorf(fault.Usage, "a stop has a session")
	}
	return nil
}

func (e end) entry() AuditEntry { return AuditEntry{Action: "stop", Session: e.Session} }

// stopGrace is what programs get to end by themselves, as 'den kill' gives them.
const stopGrace = 3 * time.Second

// stop ends a session. One that is an agent's would be started again: the agent
// is stopped.
func (a *actions) stop(ctx context.Context, e end, processes []int) (any, error) {
	found, err := a.hub.find(e.Session)
	if err != nil {
		return nil, err
	}
	if isAgents(found) {
		return nil, fault.Errorf(fault.Usage, "'%s' is an agent's session: stop the agent", found.Name)
	}
	s, err := a.vouched(ctx, e.Session, keeper.ActStop, processes)
	if err != nil {
		return nil, err
	}
	killed, err := s.Kill(ctx, stopGrace)
	return killed, err
}

func isAgents(s *dashboard.Session) bool {
	_, is := dashboard.AgentSession(s.Name)
	return is
}

// vouched returns a session that is listed, if these processes may act on it:
// none may be an agent's. The keeper tells, and notes it where the session is an
// agent's; the sessions of agents of other keepers are left alone.
func (a *actions) vouched(ctx context.Context, id, action string, processes []int) (*session.Session, error) {
	found, err := a.hub.find(id)
	if err != nil {
		return nil, err
	}
	var acted keeper.Acted
	err = a.hub.keeper.Call(ctx, keeper.MethodAct, keeper.Act{Session: found.Name, Action: action, By: a.by, For: processes}, &acted)
	vouches := err == nil && acted.Agent != ""
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.NotRunning || kind == fault.Unreachable {
		err = notMarked(processes)
	}
	if err == nil && !vouches && isAgents(found) {
		err = fault.Hintf(fault.Errorf(fault.Denied, "'%s' is the session of an agent that the keeper of this page does not know", found.Name), "use the dashboard of its workspace, and see that 'den up' runs there")
	}
	if err != nil {
		return nil, err
	}
	return session.In(found.Dir, session.Options{Version: build.Version}), nil
}

// notMarked refuses processes that say that they are an agent's, where no keeper
// knows more.
func notMarked(processes []int) error {
	if slices.ContainsFunc(processes, func(pid int) bool { return pty.HasEnv(pid, supervise.RunnerMark) || pty.HasEnv(pid, agent.NameEnv) }) {
		return fault.Errorf(fault.Denied, "an agent does not act on sessions by a page")
	}
	return nil
}
