// Package protocol talks with an agent that a harness drives by its protocol,
// over the harness's socket.
//
// A message is in one queue: the harness's, from where the agent gets it. Only
// while no harness listens it waits in the keeper's. From there it is moved by
// its id, so that the harness has it once, whatever ends meanwhile.
package protocol

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/poll"
)

// Name is what State.Source says.
const Name = "harness"

const (
	// callLimit bounds one exchange with a harness, callPause how often one that
	// does not listen is tried again for somebody who waits.
	callLimit = 5 * time.Second
	callPause = 250 * time.Millisecond
)

// Harness is what drives an agent.
type Harness struct {
	Socket string
	// Nudges returns what its queue has of the messages that nobody waits for,
	// also while it does not run.
	Nudges func() ([]outbox.Message, error)
	// Awaited tells what the agent is, and whether its harness is going to
	// listen, where it does not now.
	Awaited func(ctx context.Context) (actual string, comes bool)
}

// Options makes a Conversation.
type Options struct {
	Agent   string // its name, for messages to people
	Harness Harness
	Queue   *outbox.Queue // of the keeper
	// Session is the one in which the harness runs.
	Session Session
	// OnState is called by Run with every change of the agent's state, one call
	// at a time; or nil.
	OnState func(conversation.State)
}

// Session tells what is known of a harness that does not answer.
type Session interface {
	// IsStarting reports whether the agent's start is under way.
	IsStarting(ctx context.Context) bool
	State(ctx context.Context) (conversation.State, error)
}

// Conversation talks with one agent by its harness.
type Conversation struct {
	agent   string
	harness Harness
	session Session
	queue   *outbox.Queue
	onState func(conversation.State)

	mu        sync.Mutex // guards the fields below
	state     conversation.State
	unsettled map[string]bool // ids of messages that the harness has, and of which more is to be told
}

// New makes a conversation. It starts nothing.
func New(o Options) *Conversation {
	return &Conversation{agent: o.Agent, harness: o.Harness, session: o.Session, queue: o.Queue, onState: o.OnState, unsettled: map[string]bool{}}
}

// Keep hands a message to the harness, which writes it down. While that does
// not listen, or others wait, it is kept here. The same id is the same message.
func (c *Conversation) Keep(ctx context.Context, m conversation.Message) (outbox.Message, error) {
	named := m.ID != ""
	if !named {
		m.ID = ident.New(time.Now())
	}
	if c.queue.Pending() == 0 {
		kept, err := c.give(ctx, m)
		switch {
		case isRefusal(err) && fault.HintOf(err) == "":
			return kept, fault.Hintf(fmt.Errorf("it cannot be sent: %w", err), "change the text, or put it into a file and name that")
		case err == nil || isRefusal(err):
			return kept, err
		}
	}
	if named {
		if kept, found, err := c.known(m); found || err != nil {
			return kept, err
		}
	}
	return c.queue.Add(m.ID, m.Text)
}

// known looks for a message among those that the harness has, from its files.
func (c *Conversation) known(m conversation.Message) (kept outbox.Message, found bool, err error) {
	there, err := c.harness.Nudges()
	if err != nil {
		return outbox.Message{}, false, err
	}
	i := slices.IndexFunc(there, func(n outbox.Message) bool { return n.ID == m.ID })
	switch {
	case i < 0:
		return outbox.Message{}, false, nil
	case there[i].Text != m.Text:
		return there[i], true, outbox.OtherText(m.ID)
	}
	return asSent(there[i]), true, nil
}

// Deliver moves what is kept here, in order, until the harness has the message
// with the id. If the context ends before, the message stays here.
func (c *Conversation) Deliver(ctx context.Context, id string) (outbox.Message, error) {
	err := poll.Every(ctx, callPause, func() (bool, error) {
		err := c.move(ctx)
		return !c.waits(id), err
	})
	if m, gerr := c.queue.Get(id); gerr == nil {
		if m.Status == conversation.Failed {
			err = fault.Errorf(fault.Usage, "it cannot be sent: %s", m.Reason)
		}
		return m, err
	}
	var r ipc.Taken
	if err := c.call(ctx, ipc.Request{Type: ipc.Confirm, MessageID: id}, &r); err != nil {
		r.ID, r.Progress = id, conversation.Queued // it has it, and cannot say more now
	}
	return messageOf(r, ""), nil
}

// waits reports whether a message is to be moved.
func (c *Conversation) waits(id string) bool {
	m, err := c.queue.Get(id)
	return err == nil && !m.Status.Final()
}

// move gives the harness what is kept here, unless somebody does already or it
// does not listen. One that the harness refuses has failed.
func (c *Conversation) move(ctx context.Context) error {
	if !c.queue.TryClaim() {
		return nil
	}
	defer c.queue.Release()
	for {
		m, waits := c.queue.Next()
		if !waits || ctx.Err() != nil {
			return nil
		}
		_, err := c.give(ctx, conversation.Message{ID: m.ID, Text: m.Text})
		switch {
		case err == nil:
		case isRefusal(err):
			err = c.queue.Finish(m.ID, func(m *outbox.Message) { m.Status, m.Reason = conversation.Failed, err.Error() })
			if err != nil {
				return err
			}
		default:
			c.queue.SetReason(m.ID, "its harness does not answer yet")
			return nil
		}
	}
}

// isRefusal reports whether a harness does not want a message: offered again, it
// would not either.
func isRefusal(err error) bool {
	switch fault.KindOf(err) {
	case fault.Usage, fault.Unsupported:
		return true
	}
	return false
}

// give puts a message into the harness's queue, and takes it from this one.
func (c *Conversation) give(ctx context.Context, m conversation.Message) (outbox.Message, error) {
	var r ipc.Taken
	if err := c.call(ctx, ipc.Request{Type: ipc.Prompt, Message: m.Text, MessageID: m.ID}, &r); err != nil {
		return outbox.Message{ID: m.ID, Status: conversation.Failed, Reason: err.Error()}, err
	}
	given := messageOf(r, m.Text)
	given.Handed = time.Now()
	c.mu.Lock()
	repeated := c.unsettled[m.ID] || given.Status != conversation.Sent
	if !repeated {
		c.unsettled[m.ID] = true
	}
	c.mu.Unlock()
	if repeated && !c.waits(m.ID) {
		return given, nil // whoever gave it first was told
	}
	return given, c.queue.MoveOut(given)
}

// messageOf makes the harness's word one for the keeper's callers: what waits in
// the harness's queue has left this one.
func messageOf(r ipc.Taken, text string) outbox.Message {
	return asSent(outbox.Message{ID: r.ID, Text: text, Status: r.Progress, Reason: r.Evidence, Attempts: 1, Updated: r.At})
}

func asSent(m outbox.Message) outbox.Message {
	if m.Status == conversation.Queued || m.Status == outbox.Sending {
		m.Status, m.Reason = conversation.Sent, "the harness has it in its queue"
	}
	return m
}

// All is one list of what a keeper's queue and a harness's have of an agent.
// The harness knows better what became of a message that both had.
func All(own, harness []outbox.Message) []outbox.Message {
	there := map[string]bool{}
	var all []outbox.Message
	for _, m := range harness {
		there[m.ID] = true
		m.Attempts = max(1, m.Attempts) // it was handed over
		all = append(all, asSent(m))
	}
	for _, m := range own {
		if !there[m.ID] {
			all = append(all, m)
		}
	}
	return all
}

// Ask gives the agent a message and returns what it answers. It waits for a
// harness that is starting, and for one that is started again.
func (c *Conversation) Ask(ctx context.Context, m conversation.Message, o conversation.AskOptions) (conversation.Answer, error) {
	begun, limit := time.Now(), o.Limit
	conn, err := c.await(ctx, limit)
	if err != nil {
		return conversation.Answer{}, err
	}
	defer conn.Close() // Best effort: it was answered.
	var callers []string
	if o.Caller != "" {
		callers = []string{o.Caller}
	}
	if limit > 0 {
		limit = max(time.Millisecond, limit-time.Since(begun))
	}
	var answer conversation.Answer
	_, err = conn.Call(ctx, ipc.Request{Type: ipc.Converse, Message: m.Text, MessageID: m.ID, Timeout: limit.Seconds(), Callers: callers}, &answer)
	return answer, err
}

// await connects to the harness, within a limit; 0 is none.
func (c *Conversation) await(ctx context.Context, limit time.Duration) (conn *ipc.Conn, err error) {
	within := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	actual := ""
	waited := poll.Until(within, func() (bool, error) {
		conn, err = c.connect(within)
		if err == nil || fault.KindOf(err) != fault.NotRunning {
			return true, nil
		}
		var comes bool
		actual, comes = c.harness.Awaited(within)
		return !comes, nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil, limit > 0 && fault.KindOf(err) == fault.Timeout:
		return nil, fault.Hintf(fault.Errorf(fault.Timeout, "ask agent '%s': it is %s, and took no message within %s", c.agent, actual, limit), "'den ps' tells why; ask again with more time (--timeout)")
	case waited != nil:
		return nil, waited
	case err != nil && actual != "":
		return nil, fmt.Errorf("agent '%s' is %s: %w", c.agent, actual, err)
	}
	return conn, err
}

// connect connects to a harness that answers. One that is being killed may still
// take a connection: it does not run.
func (c *Conversation) connect(ctx context.Context) (*ipc.Conn, error) {
	conn, err := ipc.Dial(ctx, c.harness.Socket)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Call(ctx, ipc.Request{Type: ipc.Status}, nil); err == nil {
		return conn, nil
	}
	conn.Close() // Best effort: nothing was asked for.
	if fault.KindOf(err) == fault.Unreachable {
		err = fault.Errorf(fault.NotRunning, "%w", err)
	}
	return nil, err
}

// Answer decides an open question.
func (c *Conversation) Answer(ctx context.Context, question, option, by string) error {
	return c.call(ctx, ipc.Request{Type: ipc.Decide, Question: question, Option: option, By: by}, nil)
}

// call makes one request.
func (c *Conversation) call(ctx context.Context, r ipc.Request, data any) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	conn, err := ipc.Dial(ctx, c.harness.Socket)
	if err != nil {
		return err
	}
	defer conn.Close() // Best effort: it was answered.
	_, err = conn.Call(ctx, r, data)
	return err
}
