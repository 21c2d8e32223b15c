package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"den/internal/agent"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/wire"
	"den/internal/ui/dashboard"

	"github.com/coder/websocket"
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

func (c choice) entry() (e AuditEntry, err error) {
	if c.Agent == "" || c.Question == "" || c.Option < 1 {
		return e, fault.Errorf(fault.Usage, "an answer has an agent, a question, and the number of an option")
	}
	return AuditEntry{Action: "answer", Agent: c.Agent, Detail: joined(c.Question, strconv.Itoa(c.Option))}, nil
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

func (m words) entry() (e AuditEntry, err error) {
	if m.Agent == "" || strings.TrimSpace(m.Text) == "" {
		return e, fault.Errorf(fault.Usage, "a message has an agent and a text")
	}
	return AuditEntry{Action: "message", Agent: m.Agent, Detail: m.Text}, nil
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

func (o order) entry() (e AuditEntry, err error) {
	known := []string{keeper.OrderStart, keeper.OrderStop, keeper.OrderRestart, keeper.OrderReset}
	if o.Agent == "" || !slices.Contains(known, o.Order) {
		return e, fault.Errorf(fault.Usage, "an order has an agent, and is one of %s", strings.Join(known, ", "))
	}
	return AuditEntry{Action: "order", Agent: o.Agent, Detail: o.Order}, nil
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

// entry leaves out what was answered: it may be a password.
func (c reply) entry() (e AuditEntry, err error) {
	if c.Session == "" {
		return e, fault.Errorf(fault.Usage, "an answer to a cell has a session")
	}
	return AuditEntry{Action: "answer", Session: c.Session, Detail: c.Question}, nil
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

func (s end) entry() (e AuditEntry, err error) {
	if s.Session == "" {
		return e, fault.Errorf(fault.Usage, "a stop has a session")
	}
	return AuditEntry{Action: "stop", Session: s.Session}, nil
}

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
	if slices.ContainsFunc(processes, func(pid int) bool { return pty.HasEnv(pid, tree.RunnerMark) || pty.HasEnv(pid, agent.NameEnv) }) {
		return fault.Errorf(fault.Denied, "an agent does not act on sessions by a page")
	}
	return nil
}

const (
	takePath     = "/take/"
	takeProtocol = "den.take"
	maxTyped     = 64 << 10 // bytes of one message
	maxChords    = 64       // of one message
)

// typed is what a page passes on of a person's keyboard. One field is set.
type typed struct {
	Text  string   `json:"text"`
	Keys  []string `json:"keys"` // chords
	Paste string   `json:"paste"`
}

// input is it for a host, or false for what it would not take.
func (t typed) input() (wire.Input, bool) {
	switch {
	case t.Text != "":
		return wire.Input{Text: &t.Text}, true
	case t.Paste != "":
		return wire.Input{Paste: &t.Paste}, true
	}
	for _, chord := range t.Keys {
		if c, err := keys.Parse(chord); err != nil || c.Times() > 1 {
			return wire.Input{}, false
		}
	}
	return wire.Input{Keys: t.Keys}, len(t.Keys) > 0 && len(t.Keys) <= maxChords
}

// takenState is what a page hears of a terminal that it has taken over.
type takenState struct {
	Typing bool   `json:"typing,omitempty"` // what is typed arrives from now on
	Over   string `json:"over,omitempty"`   // why it does no more
}

// takeOver lets a person type into a session from a page, as an attached
// terminal does. A browser tells a page nothing of a WebSocket that was not
// opened, so what is refused here is told on it.
func (a *actions) takeOver(w http.ResponseWriter, r *http.Request) {
	if refused(w, r) {
		return
	}
	if r.Header.Get("Upgrade") == "" {
		http.Error(w, "den: this is the address of a WebSocket", http.StatusUpgradeRequired)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{takeProtocol}})
	if err != nil {
		return // the answer says why
	}
	defer conn.CloseNow() // Best effort: it is over.
	conn.SetReadLimit(maxTyped)
	ctx := r.Context()
	why := "it was left"
	if err := a.take(ctx, conn, r.PathValue("id")); err != nil {
		why = err.Error()
	}
	say(ctx, conn, takenState{Over: why})
	conn.Close(websocket.StatusNormalClosure, "") // Best effort: it ends either way.
}

// take has a person type until the session is over or they leave.
func (a *actions) take(ctx context.Context, conn *websocket.Conn, id string) error {
	select {
	case <-a.taken:
		defer func() { a.taken <- struct{}{} }()
	default:
		return fault.Errorf(fault.Busy, "%d terminals are taken over already: leave one", maxTaken)
	}
	entry := AuditEntry{Action: keeper.ActTakeOver, Session: id}
	opened, err := a.audit.around(entry, func() (any, error) {
		processes, err := callersOf(ctx)
		if err != nil {
			return nil, err
		}
		return a.attach(ctx, id, processes)
	})
	if err != nil {
		return err
	}
	inputs, err := passOn(ctx, conn, opened.(*session.Attachment))
	entry.Event, entry.Inputs = auditLeft, inputs
	if err != nil {
		entry.Why = err.Error()
	}
	if werr := a.audit.write(entry); err == nil {
		err = werr
	}
	return err
}

// attach makes an attachment that leaves the size of the session as it is.
func (a *actions) attach(ctx context.Context, id string, processes []int) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	s, err := a.vouched(ctx, id, keeper.ActTakeOver, processes)
	if err != nil {
		return nil, err
	}
	status, err := s.HostStatus(ctx)
	if err != nil {
		return nil, err
	}
	return s.Attach(wire.Attach{Cols: status.Cols, Rows: status.Rows}), nil
}

// passOn passes on what is typed, until the program ends or the page goes. The
// screen comes to the page as that of any session does.
func passOn(ctx context.Context, conn *websocket.Conn, to *session.Attachment) (inputs int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var count atomic.Int64
	var left atomic.Bool
	done := make(chan struct{})
	go func() { // ends with the connection, which is waited for below
		defer close(done)
		defer cancel()
		listenTyped(ctx, conn, func(in wire.Input) {
			count.Add(1)
			to.Type(in)
		})
		left.Store(ctx.Err() == nil)
	}()
	told := false
	exit, err := to.Run(ctx, func(wire.Frame) {
		if !told {
			told = true
			say(ctx, conn, takenState{Typing: true})
		}
	})
	switch {
	case left.Load():
		err = nil
	case err == nil && exit != nil:
		err = fault.Errorf(fault.NotRunning, "the program has ended%s", howEnded(exit))
	}
	if err != nil {
		say(ctx, conn, takenState{Over: err.Error()})
	}
	cancel() // the reader ends by it
	<-done
	return int(count.Load()), err
}

func howEnded(e *wire.Exit) string {
	if e.Signal != "" {
		return " by " + e.Signal
	}
	return fmt.Sprintf(" with status %d", e.Code)
}

// listenTyped calls each with what the page passes on, until it leaves.
func listenTyped(ctx context.Context, conn *websocket.Conn, each func(wire.Input)) {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var t typed
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&t) != nil {
			return // no page of den's
		}
		if in, ok := t.input(); ok {
			each(in)
		}
	}
}

// say tells the page. Best effort: one that has gone needs nothing.
func say(ctx context.Context, conn *websocket.Conn, s takenState) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	conn.Write(ctx, websocket.MessageText, encode(s))
}
